/** How alike a query and titles are by their letters: finds what is misspelt in ways no word list knows. */
import { foldText, titleKey, tokenize } from "./analyser.ts";
import type { MirroredDocument } from "./mirror-store.ts";
import { countCommon, similarity, trigramsOf, wantedTrigrams, wordSimilarity } from "./trigram.ts";
import type { Trigrams, WantedTrigrams } from "./trigram.ts";

const WORD_SIMILARITY_MIN = 0.35;
/** So that of titles that hold the query the shorter one comes first. */
const SIMILARITY_SHARE = 0.8;

/** Titles cut before: the same prompts are candidates again and again. About half a kilobyte each. */
const REMEMBERED_MAX = 8_000;
const remembered = new Map<string, Trigrams>();

/** Document -> likeness above 0, the greatest over all forms of the query. */
export function likenTitles(forms: readonly string[], documents: Iterable<MirroredDocument>): Map<number, number> {
  const wanted = [...new Set(forms.map(foldText))].map(wantedTrigrams);
  const likeness = new Map<number, number>();
  for (const { doc, title } of documents) {
    const trigrams = cutTitle(title);
    const greatest = Math.max(...wanted.map((form) => likenessOf(form, trigrams)));
    if (greatest > 0) likeness.set(doc, greatest);
  }
  return likeness;
}

function likenessOf(wanted: WantedTrigrams, title: Trigrams): number {
  // No stretch can be more alike than the share of the query's trigrams that the whole title has.
  if (countCommon(wanted, title) <= WORD_SIMILARITY_MIN * wanted.distinct.length) return 0;
  const inTitle = wordSimilarity(wanted, title);
  return inTitle > WORD_SIMILARITY_MIN ? inTitle + SIMILARITY_SHARE * similarity(wanted, title) : 0;
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
/** Titles read before other work of the process gets its turn: about a tenth of a millisecond. */
const TITLES_PER_TURN = 250;
/** A character is one or two of the units that a text is counted in. */
const CHARACTER_UNITS = 2;

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
    const before = title.slice(Math.max(0, at - CHARACTER_UNITS), at);
    const after = title.slice(at + wanted.length, at + wanted.length + CHARACTER_UNITS);
    const beginsWord = !rule.startsWithWord || !/[\p{L}\p{N}]$/u.test(before);
    const endsWord = !rule.isOneWord || !/^[\p{L}\p{N}]/u.test(after);
    if (beginsWord && endsWord) return true;
  }
  return false;
}
