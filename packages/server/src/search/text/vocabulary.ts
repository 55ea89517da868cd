/** The words of all public fields, arranged so that the speller finds similar words without reading all of them. */

export interface VocabularyWord {
  readonly word: string;
  /** Number of documents that have it. */
  readonly count: number;
  /** Number of documents that have it in the title. */
  readonly titleCount: number;
  /** Bit i is set if the word has the i-th letter of a-z; all other characters share the remaining bits. */
  readonly letters: number;
}

export class Vocabulary {
  readonly #words = new Map<string, VocabularyWord>();
  /** First two characters -> word -> entry. */
  readonly #byStart = new Map<string, Map<string, VocabularyWord>>();
  readonly #byLength = new Map<number, Map<string, VocabularyWord>>();
  #version = 0;

  /** Changes with every change to the vocabulary. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#words.size;
  }

  has(word: string): boolean {
    return this.#words.has(word);
  }

  find(word: string): VocabularyWord | null {
    return this.#words.get(word) ?? null;
  }

  /** A count of 0 removes the word. */
  set(word: string, count: number, titleCount: number): void {
    this.#version += 1;
    if (count <= 0) {
      this.#words.delete(word);
      this.#byStart.get(word.slice(0, 2))?.delete(word);
      this.#byLength.get(word.length)?.delete(word);
      return;
    }
    const entry = { word, count, titleCount, letters: letterBits(word) };
    this.#words.set(word, entry);
    childOf(this.#byStart, word.slice(0, 2)).set(word, entry);
    childOf(this.#byLength, word.length).set(word, entry);
  }

  /** Longer words that start with `start`, which has at least two characters. */
  *completionsOf(start: string): Generator<VocabularyWord> {
    for (const entry of this.#byStart.get(start.slice(0, 2))?.values() ?? []) {
      if (entry.word.length > start.length && entry.word.startsWith(start)) yield entry;
    }
  }

  *ofLength(length: number): Generator<VocabularyWord> {
    yield* this.#byLength.get(length)?.values() ?? [];
  }

  /** Counts the words whose length allows at most `edits` edits. */
  countSimilarLengths(word: string, edits: number): number {
    let count = 0;
    for (let length = word.length - edits; length <= word.length + edits; length += 1) {
      count += this.#byLength.get(length)?.size ?? 0;
    }
    return count;
  }

  /** Words that may be at most `edits` edits away: every edit changes at most two letters of the set. */
  *similarTo(word: string, edits: number): Generator<VocabularyWord> {
    const letters = letterBits(word);
    for (let length = word.length - edits; length <= word.length + edits; length += 1) {
      for (const entry of this.#byLength.get(length)?.values() ?? []) {
        if (countBits(entry.letters ^ letters) <= 2 * edits) yield entry;
      }
    }
  }
}

function childOf<Key>(parent: Map<Key, Map<string, VocabularyWord>>, key: Key): Map<string, VocabularyWord> {
  let child = parent.get(key);
  if (child === undefined) {
    child = new Map();
    parent.set(key, child);
  }
  return child;
}

const OTHER_BITS_FIRST = 26;
const OTHER_BITS = 6;

function letterBits(word: string): number {
  let bits = 0;
  for (let i = 0; i < word.length; i += 1) {
    const code = word.charCodeAt(i) - 97;
    bits |= 1 << (code >= 0 && code < 26 ? code : OTHER_BITS_FIRST + (word.charCodeAt(i) % OTHER_BITS));
  }
  return bits;
}

function countBits(bits: number): number {
  let n = bits - ((bits >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
