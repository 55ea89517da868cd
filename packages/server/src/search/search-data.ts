/** The shipped data, read once per process and only when first needed: an idle server pays nothing for it. */
import { readFile } from "node:fs/promises";
import { createBuiltInEmbedder } from "./built-in-embedder.ts";
import type { BuiltInEmbedder } from "./built-in-embedder.ts";
import { decodeDataFile } from "./data-file.ts";
import { decodeExpansions } from "./expansion.ts";
import type { ExpansionTable } from "./expansion.ts";
import { decodeGeneralVectors } from "./general-vectors.ts";
import { decodeBaseVectors } from "./lsa.ts";

const DIRECTORY = new URL("../../search-data/", import.meta.url);

let embedder: Promise<BuiltInEmbedder> | null = null;
let expansions: Promise<ExpansionTable> | null = null;

export function loadBuiltInEmbedder(): Promise<BuiltInEmbedder> {
  embedder ??= readBuiltInEmbedder();
  return embedder;
}

/** One file after the other, so that other work gets its turn between them. */
async function readBuiltInEmbedder(): Promise<BuiltInEmbedder> {
  const learnt = decodeBaseVectors(await readSections("base-vectors.bin.gz"));
  return createBuiltInEmbedder(learnt, decodeGeneralVectors(await readSections("general-vectors.bin.gz")));
}

export function loadExpansions(): Promise<ExpansionTable> {
  expansions ??= readSections("expansions.bin.gz").then(decodeExpansions);
  return expansions;
}

async function readSections(name: string) {
  return decodeDataFile(await readFile(new URL(name, DIRECTORY)));
}
