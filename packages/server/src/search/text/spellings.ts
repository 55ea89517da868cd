/**
 * Other spellings of the same English word: colour and color, weatherchart and weather chart, l10n. These are not
 * errors, so they are not corrected.
 */
import type { Vocabulary } from "./vocabulary.ts";

type Rule = readonly [ending: RegExp, other: string];

/** Regular differences between British and American spelling, both ways. A result that is not a word is never found. */
const RULES: readonly Rule[] = [
  [/is(e|ed|es|er|ers|ing|ation|ations|able)$/, "iz$1"],
  [/iz(e|ed|es|er|ers|ing|ation|ations|able)$/, "is$1"],
  [/ys(e|ed|es|er|ers|ing)$/, "yz$1"],
  [/yz(e|ed|es|er|ers|ing)$/, "ys$1"],
  [/our(s|ed|ing|ful|less|al|able|ite|ites|ist|ists)?$/, "or$1"],
  [/or(s|ed|ing|ful|less|al|able|ite|ites|ist|ists)?$/, "our$1"],
  [/([^aeiou])re(s|d)?$/, "$1er$2"],
  [/([^aeiou])er(s)?$/, "$1re$2"],
  [/ogue(s)?$/, "og$1"],
  [/og(s)?$/, "ogue$1"],
  [/([^l])l(ed|ing|er|ers|or|ors)$/, "$1ll$2"],
  [/ll(ed|ing|er|ers|or|ors)$/, "l$1"],
  [/enc(e|es)$/, "ens$1"],
  [/ens(e|es)$/, "enc$1"],
  [/amme(s)?$/, "am$1"],
  [/am(s)?$/, "amme$1"],
];
/** Below this length, a changed ending makes another word: tire and tier, hour and hor, filing and filling. */
const LETTERS_MIN = 6;
/** Two letters in place of one that keyboards may lack (Fuessen), and older spellings of Greek words (paediatric). */
const DIGRAPH = /[aou]e/g;

export function otherSpellings(word: string): string[] {
  if (word.length < LETTERS_MIN || !/^[a-z]+$/.test(word)) return [];
  const found = RULES.filter(([ending]) => ending.test(word)).map(([ending, other]) => word.replace(ending, other));
  for (const keep of ["first", "second"] as const) {
    const simple = word.replaceAll(DIGRAPH, (pair) => (keep === "first" ? pair.charAt(0) : pair.charAt(1)));
    if (simple !== word) found.push(simple);
  }
  return [...new Set(found)];
}

const PART_LETTERS_MIN = 3;
/** A part that occurs in only one title may itself be a typo. */
const PART_TITLES_MIN = 2;

/**
 * `weatherchart`: finds the two title words that it is made of, or null. Of several ways, prefers the more common
 * words.
 */
export function splitWord(word: string, vocabulary: Vocabulary): readonly [string, string] | null {
  let best: { parts: readonly [string, string]; titles: number } | null = null;
  for (let at = PART_LETTERS_MIN; at <= word.length - PART_LETTERS_MIN; at += 1) {
    const parts = [word.slice(0, at), word.slice(at)] as const;
    const titles = Math.min(...parts.map((part) => vocabulary.find(part)?.titleCount ?? 0));
    if (titles >= PART_TITLES_MIN && titles > (best?.titles ?? 0)) best = { parts, titles };
  }
  return best?.parts ?? null;
}

const NUMERONYM = /^([a-z])(\d{1,2})([a-z])$/;

/** Shorter abbreviations are not numeronyms: b2b, e2e, p2p, and w3c are names. */
const COUNTED_MIN = 5;

/** `l10n`: l, ten letters, n. Returns the fitting word in the most titles, then in the most documents; or null. */
export function spellOut(word: string, vocabulary: Vocabulary): string | null {
  const [, first = "", count = "", last = ""] = NUMERONYM.exec(word) ?? [];
  if (Number(count) < COUNTED_MIN) return null;
  const [best] = [...vocabulary.ofLength(Number(count) + 2)]
    .filter((entry) => entry.word.startsWith(first) && entry.word.endsWith(last))
    .sort((a, b) => b.titleCount - a.titleCount || b.count - a.count);
  return best?.word ?? null;
}
