/** The shipped data, read once per process and only when first needed: an idle server pays nothing for it. */
import { readFile } from "node:fs/promises";
import { decodeDataFile } from "./data-file.ts";
import { decodeExpansions } from "./expansion.ts";
import type { ExpansionTable } from "./expansion.ts";
import { decodeBaseVectors } from "./lsa.ts";
import type { BaseVectors } from "./lsa.ts";

const DIRECTORY = new URL("../../search-data/", import.meta.url);

let baseVectors: Promise<BaseVectors> | null = null;
let expansions: Promise<ExpansionTable> | null = null;

export function loadBaseVectors(): Promise<BaseVectors> {
  baseVectors ??= readSections("base-vectors.bin.gz").then(decodeBaseVectors);
  return baseVectors;
}

export function loadExpansions(): Promise<ExpansionTable> {
  expansions ??= readSections("expansions.bin.gz").then(decodeExpansions);
  return expansions;
}

async function readSections(name: string) {
  return decodeDataFile(await readFile(new URL(name, DIRECTORY)));
}
