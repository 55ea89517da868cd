/**
 * Replaces an embeddings model, to measure the code path instead of a model. Prompts get vectors from their text's hash,
 * and a query gets the noisy mean of its relevant prompts. It knows the answers, so its figures show that the ranking
 * uses a good embedder, but not how good any real one is.
 */
import { createHash } from "node:crypto";
import { embeddingInput } from "../../packages/server/src/search/indexing/document-terms.ts";
import type { RemoteEmbedder } from "../../packages/server/src/search/index.ts";
import { documentOf } from "./evaluation-data.ts";
import type { CorpusPrompt, JudgedQuery } from "./evaluation-data.ts";

const DIMS = 256;
/** Weight of the noise in a query's vector; 1.5 leaves a cosine of about 0.5 to a single relevant prompt. */
const NOISE = 1.5;

export function createTestEmbedder(corpus: readonly CorpusPrompt[], queries: readonly JudgedQuery[]): RemoteEmbedder {
  const textOf = new Map(corpus.map((prompt) => [prompt.id, embeddingInput(documentOf(prompt))]));
  const judged = new Map(queries.map((query) => [query.q, query.rel]));
  return {
    model: "test/knows-the-answers",
    embedTexts: async (texts) =>
      texts.map((text) => {
        const rel = judged.get(text);
        return rel === undefined ? hashedVector(text) : queryVector(text, rel, textOf);
      }),
  };
}

function queryVector(query: string, rel: JudgedQuery["rel"], textOf: ReadonlyMap<string, string>): Float32Array {
  const sum = hashedVector(query).map((value) => value * NOISE);
  for (const [id, grade] of Object.entries(rel)) {
    const vector = hashedVector(textOf.get(id) ?? id);
    for (const [k, value] of vector.entries()) sum[k] = (sum[k] ?? 0) + (value * (2 ** grade - 1)) / 7;
  }
  return sum;
}

const LETTER_RUNS = [3, 4];
const LETTER_NOISE = 0.5;

/**
 * Replaces a mediocre model: hashed sequences of three and four letters, with noise. It knows spellings but no
 * meanings, and alone finds a third of the paraphrases that the built-in vectors find.
 */
export function createMediocreEmbedder(): RemoteEmbedder {
  return { model: "test/mediocre", embedTexts: async (texts) => texts.map(letterVector) };
}

function letterVector(text: string): Float32Array {
  const sum = new Float32Array(DIMS);
  const letters = ` ${text
    .toLowerCase()
    .replaceAll(/^\w+: /gm, "")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")} `;
  for (const length of LETTER_RUNS) {
    for (let i = 0; i + length <= letters.length; i += 1) {
      const hash = hashLetters(letters.slice(i, i + length));
      const at = (hash >>> 1) % DIMS;
      sum[at] = (sum[at] ?? 0) + (hash % 2 === 0 ? 1 : -1);
    }
  }
  const rooted = sum.map((value) => Math.sign(value) * Math.sqrt(Math.abs(value)));
  const noise = LETTER_NOISE * Math.hypot(...rooted);
  const noises = hashedVector(text);
  return rooted.map((value, k) => value + noise * (noises[k] ?? 0));
}

/** FNV-1a. */
function hashLetters(letters: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < letters.length; i += 1) hash = Math.imul(hash ^ letters.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Unit length; vectors of different texts are nearly orthogonal. */
function hashedVector(text: string): Float32Array {
  const bits = createHash("shake256", { outputLength: DIMS / 8 })
    .update(text)
    .digest();
  const value = 1 / Math.sqrt(DIMS);
  return Float32Array.from({ length: DIMS }, (_, k) => (((bits[k >> 3] ?? 0) >> (k & 7)) & 1 ? value : -value));
}
