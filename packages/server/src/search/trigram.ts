/**
 * Trigram likeness exactly as pg_trgm computes it (PostgreSQL 15, contrib/pg_trgm/trgm_op.c), without needing the
 * extension: every word is framed by two spaces before and one after, and cut into runs of three characters.
 */

const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/** A text cut once, to be compared with many. Each different trigram has a number of its own within the text. */
export interface Trigrams {
  /** Number -> trigram. */
  readonly distinct: readonly string[];
  /** Trigram -> number. */
  readonly numbers: ReadonlyMap<string, number>;
  /** The numbers in reading order. */
  readonly ordered: readonly number[];
}

export function trigramsOf(text: string): Trigrams {
  const distinct: string[] = [];
  const numbers = new Map<string, number>();
  const ordered: number[] = [];
  for (const [word] of text.toLowerCase().matchAll(WORD)) {
    const framed = Array.from(`  ${word} `); // code points
    for (let i = 2; i < framed.length; i += 1) {
      const trigram = `${framed[i - 2]}${framed[i - 1]}${framed[i]}`;
      let number = numbers.get(trigram);
      if (number === undefined) {
        number = distinct.length;
        numbers.set(trigram, number);
        distinct.push(trigram);
      }
      ordered.push(number);
    }
  }
  return { distinct, numbers, ordered };
}

/** How many different trigrams both have. */
export function countCommon(a: Trigrams, b: Trigrams): number {
  let common = 0;
  for (const trigram of a.distinct) if (b.numbers.has(trigram)) common += 1;
  return common;
}

/** Shared trigrams over all trigrams of both, 0 to 1. */
export function similarity(a: Trigrams, b: Trigrams): number {
  return ratio(countCommon(a, b), a.distinct.length, b.distinct.length);
}

/** The greatest similarity between the whole of `query` and any stretch of `text`, 0 to 1. */
export function wordSimilarity(query: Trigrams, text: Trigrams): number {
  const isFound = text.distinct.map((trigram) => query.numbers.has(trigram));
  const comparison: Comparison = {
    querySize: query.distinct.length,
    ordered: text.ordered,
    isFound,
    last: new Int32Array(text.distinct.length).fill(-1),
  };
  let best = 0;
  let extent: Extent | null = null;
  for (const [i, trigram] of text.ordered.entries()) {
    if (extent === null && isFound[trigram] !== true) continue;
    extent ??= { lower: i, common: 0, size: 0 };
    if (comparison.last[trigram] === -1) {
      extent.size += 1;
      if (isFound[trigram] === true) extent.common += 1;
    }
    comparison.last[trigram] = i;
    if (isFound[trigram] !== true) continue;
    const shrunk = shrinkFromLeft(extent, i, comparison);
    for (let j = extent.lower; j < shrunk.lower; j += 1) {
      const dropped = text.ordered[j] as number;
      if (comparison.last[dropped] === j) comparison.last[dropped] = -1;
    }
    extent = shrunk;
    best = Math.max(best, ratio(extent.common, comparison.querySize, extent.size));
  }
  return best;
}

interface Extent {
  lower: number;
  /** Distinct trigrams of the extent that the query has. */
  common: number;
  /** Distinct trigrams of the extent. */
  size: number;
}

interface Comparison {
  readonly querySize: number;
  readonly ordered: readonly number[];
  /** By the text's numbers: whether the query has the trigram. */
  readonly isFound: readonly boolean[];
  /** By the text's numbers: last position within the extent, -1 for none. */
  readonly last: Int32Array;
}

/** Drops trigrams from the left as long as some shorter extent that ends at `upper` is more alike. */
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
      if (isFound[trigram] === true) common -= 1;
    }
  }
  return best;
}

function ratio(common: number, sizeA: number, sizeB: number): number {
  return common === 0 ? 0 : common / (sizeA + sizeB - common);
}
