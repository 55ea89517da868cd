/** What the index contains of a prompt: its public fields, never templates, instructions, option texts, or samples. */
import { createHash } from "node:crypto";
import { ANALYSER_VERSION, contentTokens, foldText, tokenize } from "../text/analyser.ts";

export interface SearchDocument {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly inputNames: readonly string[];
}

export type SearchFields = Pick<SearchDocument, "title" | "description" | "tags" | "inputNames">;

/** A word counts three times in the title, and one and a half times elsewhere, compared with a word in a template. */
const TITLE_WEIGHT = 3;
const FIELD_WEIGHT = 1.5;
/** Names like "topic" or "language" say little; a weight of 1.5 costs .003 over all development queries (2026-11). */
const INPUT_NAME_WEIGHT = 0.5;
/** The speller suggests words of at least three letters; anything longer than the maximum is not a word. */
const WORD_LETTERS = { min: 3, max: 40 };
/** A B-tree entry must stay under 2,704 bytes, and nobody searches for a longer run of letters. */
const TERM_UNITS_MAX = 200;

export interface DocumentTerms {
  /** Term -> sum of the weights of the fields it occurs in, over its occurrences. */
  readonly weights: ReadonlyMap<string, number>;
  /** Sum of all weights: the document's length. */
  readonly length: number;
  /** Words as written (folded), for the speller. */
  readonly words: readonly string[];
  readonly titleWords: readonly string[];
  /** Changes exactly when the document would be indexed differently. */
  readonly contentHash: Buffer;
}

/** Term -> weight over the public fields. */
export function weighFields(fields: SearchFields): Map<string, number> {
  const weights = new Map<string, number>();
  const add = (text: string, weight: number) => {
    for (const { term } of titleTokens(text)) {
      if (term.length <= TERM_UNITS_MAX) weights.set(term, (weights.get(term) ?? 0) + weight);
    }
  };
  add(fields.title, TITLE_WEIGHT);
  for (const text of [fields.description, ...fields.tags]) add(text, FIELD_WEIGHT);
  for (const text of fields.inputNames) add(text, INPUT_NAME_WEIGHT);
  return weights;
}

export function analyseDocument(document: SearchFields): DocumentTerms {
  const weights = weighFields(document);
  const titleWords = wordsOf([document.title]);
  const words = wordsOf([document.title, document.description, ...document.tags, ...document.inputNames]);
  let length = 0;
  for (const weight of weights.values()) length += weight;
  return { weights, length, words, titleWords, contentHash: hashFields(document) };
}

/** Makes a copy that PostgreSQL can store: well formed and without NUL. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", " ");
}

/** About 500 tokens of English, which the smallest models accept. Title and description come first and are shorter. */
const EMBEDDING_INPUT_UNITS_MAX = 2_000;

/** Builds what is sent to an embeddings model: only the public fields, in labeled lines. */
export function embeddingInput(fields: SearchFields): string {
  const lines = [
    ["Title", fields.title],
    ["Description", fields.description],
    ["Tags", fields.tags.join(", ")],
    ["Inputs", fields.inputNames.join(", ")],
  ] as const;
  return lines
    .filter(([, text]) => text.trim() !== "")
    .map(([label, text]) => `${label}: ${foldSpace(text)}`)
    .join("\n")
    .slice(0, EMBEDDING_INPUT_UNITS_MAX)
    .toWellFormed();
}

function foldSpace(text: string): string {
  return storableText(text).replaceAll(/\s+/gu, " ").trim();
}

/** A title of only stop words ("What If") keeps them, so that a search for them finds it. */
function titleTokens(text: string) {
  const tokens = contentTokens(text);
  return tokens.length > 0 ? tokens : tokenize(text);
}

function wordsOf(texts: readonly string[]): string[] {
  const words = texts.flatMap((text) => contentTokens(text)).map(({ word }) => word);
  return [...new Set(words.filter(isSpellable))].sort();
}

function isSpellable(word: string): boolean {
  return word.length >= WORD_LETTERS.min && word.length <= WORD_LETTERS.max && !/^\p{Nd}+$/u.test(word);
}

function hashFields(fields: SearchFields): Buffer {
  const content = [ANALYSER_VERSION, fields.title, fields.description, fields.tags, fields.inputNames];
  return createHash("sha256")
    .update(foldText(JSON.stringify(content)))
    .digest();
}
