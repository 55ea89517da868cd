/** The shipped data, read once per process and only when first needed: an idle server pays nothing for it. */
import { readFile } from "node:fs/promises";
import { createBuiltInEmbedder } from "../meaning/built-in-embedder.ts";
import type { BuiltInEmbedder } from "../meaning/built-in-embedder.ts";
import { decodeDataFile } from "./data-file.ts";
import { decodeExpansions } from "../query/expansion.ts";
import type { ExpansionTable } from "../query/expansion.ts";
import { decodeGeneralVectors } from "../meaning/general-vectors.ts";
import { decodeBaseVectors } from "../meaning/lsa.ts";

const DIRECTORY = new URL("../../../search-data/", import.meta.url);

export const loadBuiltInEmbedder: () => Promise<BuiltInEmbedder> = once(readBuiltInEmbedder);
export const loadExpansions: () => Promise<ExpansionTable> = once(async () =>
  decodeExpansions(await readSections("expansions.bin.gz")),
);

/** One file after the other, so that other work gets its turn between them. */
async function readBuiltInEmbedder(): Promise<BuiltInEmbedder> {
  const learnt = decodeBaseVectors(await readSections("base-vectors.bin.gz"));
  return createBuiltInEmbedder(learnt, decodeGeneralVectors(await readSections("general-vectors.bin.gz")));
}

async function readSections(name: string) {
  return decodeDataFile(await readFile(new URL(name, DIRECTORY)));
}

/** A reading that failed is forgotten: the next one may find a free file descriptor. */
function once<Data>(read: () => Promise<Data>): () => Promise<Data> {
  let reading: Promise<Data> | null = null;
  return () => {
    reading ??= read().catch((error: unknown) => {
      reading = null;
      throw error;
    });
    return reading;
  };
}
