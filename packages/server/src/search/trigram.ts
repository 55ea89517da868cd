/**
 * Trigram likeness exactly as pg_trgm computes it (PostgreSQL 15, contrib/pg_trgm/trgm_op.c), without needing the
 * extension: every word is framed by two spaces before and one after, and cut into runs of three characters.
 */

const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/** A text cut once, to be compared with many. */
export interface Trigrams {
  /** Every trigram in reading order. */
  readonly ordered: readonly string[];
  readonly distinct: ReadonlySet<string>;
}

export function trigramsOf(text: string): Trigrams {
  const ordered: string[] = [];
  for (const [word] of text.toLowerCase().matchAll(WORD)) {
    const framed = Array.from(`  ${word} `); // code points
    for (let i = 2; i < framed.length; i += 1) ordered.push(`${framed[i - 2]}${framed[i - 1]}${framed[i]}`);
  }
  return { ordered, distinct: new Set(ordered) };
}

/** Shared trigrams over all trigrams of both, 0 to 1. */
export function similarity(a: Trigrams, b: Trigrams): number {
  let common = 0;
  for (const trigram of a.distinct) if (b.distinct.has(trigram)) common += 1;
  return ratio(common, a.distinct.size, b.distinct.size);
}

/** The greatest similarity between the whole of `query` and any stretch of `text`, 0 to 1. */
export function wordSimilarity(query: Trigrams, text: Trigrams): number {
  const last = new Map<string, number>();
  const found = text.ordered.map((trigram) => query.distinct.has(trigram));
  let best = 0;
  let extent: Extent | null = null;
  for (const [i, trigram] of text.ordered.entries()) {
    if (extent === null && found[i] !== true) continue;
    extent ??= { lower: i, common: 0, size: 0 };
    if (!last.has(trigram)) {
      extent.size += 1;
      if (found[i] === true) extent.common += 1;
    }
    last.set(trigram, i);
    if (found[i] !== true) continue;
    const shrunk = shrinkFromLeft(extent, i, { query, text, found, last });
    for (let j = extent.lower; j < shrunk.lower; j += 1) {
      if (last.get(text.ordered[j] as string) === j) last.delete(text.ordered[j] as string);
    }
    extent = shrunk;
    best = Math.max(best, ratio(extent.common, query.distinct.size, extent.size));
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
  readonly query: Trigrams;
  readonly text: Trigrams;
  readonly found: readonly boolean[];
  readonly last: ReadonlyMap<string, number>;
}

/** Drops trigrams from the left as long as some shorter extent that ends at `upper` is more alike. */
function shrinkFromLeft(extent: Extent, upper: number, { query, text, found, last }: Comparison): Extent {
  let best = extent;
  let { common, size } = extent;
  let bestRatio = ratio(common, query.distinct.size, size);
  for (let lower = extent.lower; lower <= upper; lower += 1) {
    const current = ratio(common, query.distinct.size, size);
    if (current > bestRatio) {
      bestRatio = current;
      best = { lower, common, size };
    }
    if (last.get(text.ordered[lower] as string) === lower) {
      size -= 1;
      if (found[lower] === true) common -= 1;
    }
  }
  return best;
}

function ratio(common: number, sizeA: number, sizeB: number): number {
  return common === 0 ? 0 : common / (sizeA + sizeB - common);
}
