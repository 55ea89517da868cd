/**
 * Computes trigram similarity exactly as pg_trgm does (PostgreSQL 15, contrib/pg_trgm/trgm_op.c), without the
 * extension: every word gets two spaces before it and one after it, and is cut into runs of three characters. A trigram
 * is a single number here, since every query cuts and compares a few hundred titles.
 */

/** A text cut once, to compare with many others. */
export interface Trigrams {
  /** Every distinct trigram, in order of first occurrence. */
  readonly distinct: Float64Array;
  /** Positions in `distinct`, in reading order. */
  readonly ordered: Uint16Array;
}

/** A query, prepared for looking up its trigrams. */
export interface WantedTrigrams extends Trigrams {
  readonly has: (trigram: number) => boolean;
}

const SPACE = 32;
/** Only the beginning of longer texts is compared. Titles and queries are shorter. */
const ORDERED_MAX = 0xffff;
const CHARACTER_BITS = 2 ** 16;
/** A word as pg_trgm sees it: c, c++, and c# are all `c`. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** A word with the signs that the analyser keeps after a letter: c, c++, and c# are three words. */
export const SIGNED_WORD = /[\p{L}\p{M}\p{N}]+(?:(?<=\p{L})(?:\+{1,2}|#))?/gu;

export function trigramsOf(text: string, wordPattern: RegExp = WORD): Trigrams {
  const distinct: number[] = [];
  const positions = new Map<number, number>();
  const ordered: number[] = [];
  const add = (a: number, b: number, c: number) => {
    const trigram = (a * CHARACTER_BITS + b) * CHARACTER_BITS + c; // 48 bits: exact in a number
    let position = positions.get(trigram);
    if (position === undefined) {
      position = distinct.length;
      positions.set(trigram, position);
      distinct.push(trigram);
    }
    ordered.push(position);
  };
  for (const [word] of text.toLowerCase().matchAll(wordPattern)) {
    let [before, last] = [SPACE, SPACE];
    for (const character of `${word} `) {
      const code = (character.codePointAt(0) as number) % CHARACTER_BITS;
      add(before, last, code);
      [before, last] = [last, code];
    }
  }
  return { distinct: Float64Array.from(distinct), ordered: Uint16Array.from(ordered.slice(0, ORDERED_MAX)) };
}

export function wantedTrigrams(text: string, wordPattern: RegExp = WORD): WantedTrigrams {
  const trigrams = trigramsOf(text, wordPattern);
  const set = new Set(trigrams.distinct);
  return { ...trigrams, has: (trigram) => set.has(trigram) };
}

/** Counts distinct trigrams without spaces. All words with the same beginning or end share the ones with spaces. */
export function countInner({ distinct }: Trigrams): number {
  return distinct.filter((trigram) => !hasSpace(trigram)).length;
}

/** A word's trigrams have spaces only at the beginning or at the end. */
function hasSpace(trigram: number): boolean {
  return Math.floor(trigram / CHARACTER_BITS ** 2) === SPACE || trigram % CHARACTER_BITS === SPACE;
}

/** Counts the distinct trigrams that both have. */
export function countCommon(query: WantedTrigrams, text: Trigrams): number {
  let common = 0;
  for (const trigram of text.distinct) if (query.has(trigram)) common += 1;
  return common;
}

/** Shared trigrams over all trigrams of both, 0 to 1. */
export function similarity(query: WantedTrigrams, text: Trigrams): number {
  return ratio(countCommon(query, text), query.distinct.length, text.distinct.length);
}

/** The greatest similarity, 0 to 1, between the whole `query` and any part of `text`. */
export function wordSimilarity(query: WantedTrigrams, text: Trigrams): number {
  const comparison: Comparison = {
    querySize: query.distinct.length,
    ordered: text.ordered,
    ...clearBuffers(text.distinct.length),
  };
  for (let i = 0; i < text.distinct.length; i += 1) {
    comparison.isFound[i] = query.has(text.distinct[i] as number) ? 1 : 0;
  }
  const { isFound, last, ordered } = comparison;
  let best = 0;
  let extent: Extent | null = null;
  for (let i = 0; i < ordered.length; i += 1) {
    const trigram = ordered[i] as number;
    if (extent === null && isFound[trigram] !== 1) continue;
    extent ??= { lower: i, common: 0, size: 0 };
    if (last[trigram] === -1) {
      extent.size += 1;
      if (isFound[trigram] === 1) extent.common += 1;
    }
    last[trigram] = i;
    if (isFound[trigram] !== 1) continue;
    const shrunk = shrinkFromLeft(extent, i, comparison);
    for (let j = extent.lower; j < shrunk.lower; j += 1) {
      const dropped = ordered[j] as number;
      if (last[dropped] === j) last[dropped] = -1;
    }
    extent = shrunk;
    best = Math.max(best, ratio(extent.common, comparison.querySize, extent.size));
  }
  return best;
}

/** One pair for all comparisons: hundreds of arrays per query would cause garbage collection pauses. */
let buffers = { isFound: new Uint8Array(256), last: new Int32Array(256) };

function clearBuffers(length: number): typeof buffers {
  if (length > buffers.last.length) {
    buffers = { isFound: new Uint8Array(2 * length), last: new Int32Array(2 * length) };
  }
  buffers.last.fill(-1, 0, length);
  return buffers;
}

interface Extent {
  lower: number;
  /** Number of the extent's distinct trigrams that the query has. */
  common: number;
  /** Number of the extent's distinct trigrams. */
  size: number;
}

interface Comparison {
  readonly querySize: number;
  readonly ordered: Uint16Array;
  /** By position in the text's distinct trigrams: 1 if the query has the trigram. */
  readonly isFound: Uint8Array;
  /** By the same position: last index within the extent, or -1. */
  readonly last: Int32Array;
}

/** Drops trigrams from the left while a shorter extent that ends at `upper` is more similar. */
function shrinkFromLeft(extent: Extent, upper: number, { querySize, ordered, isFound, last }: Comparison): Extent {
  let best = extent;
  let { common, size } = extent;
  let bestRatio = ratio(common, querySize, size);
  for (let lower = extent.lower; lower <= upper; lower += 1) {
    const current = ratio(common, querySize, size);
    if (current > bestRatio) {
      bestRatio = current;
      best = { lower, common, size };
    }
    const trigram = ordered[lower] as number;
    if (last[trigram] === lower) {
      size -= 1;
      if (isFound[trigram] === 1) common -= 1;
    }
  }
  return best;
}

function ratio(common: number, sizeA: number, sizeB: number): number {
  return common === 0 ? 0 : common / (sizeA + sizeB - common);
}
