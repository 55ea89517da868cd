/** How alike a query and titles are by their letters: finds what is misspelt in ways no word list knows. */
import { foldText, titleKey, tokenize } from "./analyser.ts";
import type { MirroredDocument } from "./mirror-store.ts";
import { countCommon, similarity, trigramsOf, wantedTrigrams, wordSimilarity } from "./trigram.ts";
import type { Trigrams } from "./trigram.ts";

const WORD_SIMILARITY_MIN = 0.35;
const SIMILARITY_SHARE = 0.3;

/** Titles cut before: the same prompts are candidates again and again. About half a kilobyte each. */
const REMEMBERED_MAX = 8_000;
const remembered = new Map<string, Trigrams>();

/** Document -> likeness above 0. */
export function likenTitles(query: string, documents: Iterable<MirroredDocument>): Map<number, number> {
  const wanted = wantedTrigrams(foldText(query));
  const likeness = new Map<number, number>();
  for (const { doc, title } of documents) {
    const trigrams = cutTitle(title);
    // No stretch can be more alike than the share of the query's trigrams that the whole title has.
    if (countCommon(wanted, trigrams) <= WORD_SIMILARITY_MIN * wanted.distinct.length) continue;
    const inTitle = wordSimilarity(wanted, trigrams);
    if (inTitle > WORD_SIMILARITY_MIN) likeness.set(doc, inTitle + SIMILARITY_SHARE * similarity(wanted, trigrams));
  }
  return likeness;
}

/** The oldest entry makes room; which one goes hardly matters. */
function cutTitle(title: string): Trigrams {
  const known = remembered.get(title);
  if (known !== undefined) return known;
  const trigrams = trigramsOf(foldText(title));
  const oldest = remembered.keys().next();
  if (remembered.size >= REMEMBERED_MAX && oldest.done !== true) remembered.delete(oldest.value);
  remembered.set(title, trigrams);
  return trigrams;
}

const LITERAL_MAX = 200;
/** Titles read before other work of the process gets its turn: about half a millisecond. */
const TITLES_PER_TURN = 1_000;

/**
 * For queries without a word that means something (stop words, one letter, signs): titles that hold the query as it
 * is written, from the beginning of a word on. `titles` are in the form of titleKey.
 */
export async function findLiterally(
  query: string,
  titles: Iterable<readonly [title: string, docs: ReadonlySet<number>]>,
): Promise<number[]> {
  const wanted = titleKey(query);
  if (wanted === "") return [];
  const startsWithWord = /^[\p{L}\p{N}]/u.test(wanted);
  const isOneWord = startsWithWord && tokenize(query).length === 0;
  const found: number[] = [];
  let read = 0;
  for (const [title, docs] of titles) {
    if (found.length >= LITERAL_MAX) break;
    if (holds(title, wanted, { startsWithWord, isOneWord })) found.push(...docs);
    read += 1;
    if (read % TITLES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}

function holds(title: string, wanted: string, rule: { startsWithWord: boolean; isOneWord: boolean }): boolean {
  for (let at = title.indexOf(wanted); at >= 0; at = title.indexOf(wanted, at + 1)) {
    const before = title.slice(0, at);
    const after = title.slice(at + wanted.length);
    const beginsWord = !rule.startsWithWord || !/[\p{L}\p{N}]$/u.test(before);
    const endsWord = !rule.isOneWord || !/^[\p{L}\p{N}]/u.test(after);
    if (beginsWord && endsWord) return true;
  }
  return false;
}
