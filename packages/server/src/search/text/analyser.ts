/**
 * Turns text into terms. Documents and queries share one module, since terms made in two ways would never match.
 * PostgreSQL's own parser is not used: it turns both `C++` and `C#` into `c`, a Chinese phrase into one token, and a
 * query of stop words into nothing (measured 2026-11).
 */
import { stem } from "porter2";

/**
 * Raise it when the same text gives different terms than before. Documents of an older version are then indexed again.
 */
export const ANALYSER_VERSION = 3;

/**
 * Words that say nothing about the subject. The first block is the usual English list, with contractions written
 * without apostrophes; the second contains what people write around the subject when they search a prompt catalogue.
 */
const USUAL = `
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
itself they them their theirs themselves what which who whom whose this that these those am is are was were be been
being have has had having do does did doing done a an the and but if or because as until while of at by for with about
against between into through during before after above below to from up down in out on off over under again further
then once here there when where why how all any both each few more most other some such no nor not only own same so
than too very can could will would shall should may might must just also now im ive id ill youre youve youd youll hes
shes theyre theyve theyd weve wed thats whats theres lets dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt
cant cannot couldnt wont wouldnt shouldnt`;
const ASKING = "want need like make please help give get way thing something someone let further";

const STOP_WORDS: ReadonlySet<string> = new Set(`${USUAL} ${ASKING}`.trim().split(/\s+/));

/** Whether a lowercase word says nothing about the subject in English. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

export interface Token {
  /** Lowercase, without accents in Latin words; the speller compares it. */
  readonly word: string;
  /** The stem, which is the key of postings, expansions, and vectors. */
  readonly term: string;
  readonly isStopWord: boolean;
  /** The word is in double quotes, so it is neither corrected nor expanded. */
  readonly isQuoted: boolean;
  /** Only white space follows the word. */
  readonly isLast: boolean;
}

/** Scripts written without spaces: their runs become overlapping pairs of characters. */
const UNSPACED =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}ー";
const LETTER = `(?![${UNSPACED}])[\\p{L}\\p{M}]`;
/**
 * A run of an unspaced script; or letters mixed with digits (gpt4, gpt4o, k8s), or followed by `+` or `#` (c++, c#), or
 * digits followed by letters (3d, 2024), joined by single dots, hyphens, or underscores into a compound (node.js,
 * gpt-4o).
 */
const PART = `(?:(?:${LETTER})+(?:['’](?:${LETTER})+)*(?:\\p{Nd}+(?:${LETTER})+)*\\p{Nd}*(?:\\+{1,2}|#)?|\\p{Nd}+(?:${LETTER})*)`;
const TOKEN = new RegExp(
  `[${UNSPACED}](?:[${UNSPACED}]|\\p{M})*|(?<![\\p{L}\\p{Nd}])\\.net(?![\\p{L}\\p{Nd}])|${PART}(?:[.\\-_]${PART})*`,
  "gu",
);
const PART_PATTERN = new RegExp(PART, "gu");
/** In `gpt4turbo`, a word starts after the digits; in `k8s`, `gpt4o`, and `a11y`, none does. */
const WORD_AFTER_DIGITS = /(?<=\p{L}\p{Nd}+)(?=\p{L}{3})/u;
const UNSPACED_START = new RegExp(`^[${UNSPACED}]`, "u");
const LATIN_WORD = /^[\p{Script=Latin}\p{M}\p{Nd}'+#.]+$/u;
const MARKS = /\p{M}+/gu;
const COMPOUND_PARTS_MAX = 4;

/** Normalizes any text: well formed, NFKC, lowercase, without NUL. */
export function foldText(text: string): string {
  return text.toWellFormed().normalize("NFKC").toLowerCase().replaceAll("\0", " ");
}

/** Two units for each of the 200 characters of a query. */
const FOLDED_MAX = 400;

/**
 * Returns the query, or its folded beginning if folding makes it much longer (one Arabic character becomes eighteen).
 */
export function cutQuery(query: string): string {
  const folded = foldText(query);
  return folded.length <= FOLDED_MAX ? query : folded.slice(0, FOLDED_MAX);
}

/** The form in which a query and a title are compared for equality. */
export function titleKey(text: string): string {
  return foldText(text).trim().replaceAll(/\s+/gu, " ");
}

/**
 * A looser form for titles typed without their spaces, signs, and accents: only letters and digits. `+` and `#` after a
 * letter or digit stay, since they distinguish languages. Empty for a title of signs.
 */
export function titleLetters(text: string): string {
  return titleKey(text)
    .normalize("NFD")
    .replaceAll(/(\p{Script=Latin})\p{M}+/gu, "$1")
    .normalize("NFC")
    .replaceAll(/([\p{L}\p{M}\p{N}](?:\+{1,2}|#))|[^\p{L}\p{M}\p{N}]/gu, "$1");
}

/**
 * Returns all tokens in reading order, including marked stop words. One-character words are dropped, except in scripts
 * where a character is a word. A compound becomes its parts and the joined whole (`gpt-4o`: gpt, 4o, gpt4o;
 * `gpt4turbo`: gpt4, turbo, gpt4turbo).
 */
export function tokenize(text: string): Token[] {
  const folded = foldText(text);
  const quoted = quotedSpans(folded);
  const end = folded.trimEnd().length;
  const tokens: Token[] = [];
  for (const match of folded.matchAll(TOKEN)) {
    const isQuoted = quoted.some(([from, to]) => match.index >= from && match.index < to);
    const isLast = match.index + match[0].length === end;
    const words = UNSPACED_START.test(match[0]) ? characterPairs(match[0]) : wordsOf(match[0]);
    for (const [i, word] of words.entries()) {
      tokens.push({
        word,
        term: stemEnglish(word),
        isStopWord: isStopWord(word),
        isQuoted,
        isLast: isLast && i === words.length - 1,
      });
    }
  }
  return tokens;
}

/** The tokens that carry meaning. */
export function contentTokens(text: string): Token[] {
  return tokenize(text).filter((token) => !token.isStopWord);
}

/** `running`, `runs`, and `run` become one term (Snowball's English stemmer). Words in other scripts stay unchanged. */
export function stemEnglish(word: string): string {
  return /^[a-z']+$/.test(word) ? stem(word) : word;
}

function quotedSpans(text: string): [number, number][] {
  return [...text.matchAll(/"[^"]*"/g)].map((match) => [match.index, match.index + match[0].length]);
}

function wordsOf(compound: string): string[] {
  if (compound === ".net") return [compound];
  const written = [...compound.matchAll(PART_PATTERN)].flatMap((part) => part[0].split(WORD_AFTER_DIGITS));
  const parts = written.map(cleanWord);
  const isCompound = parts.length > 1 && parts.length <= COMPOUND_PARTS_MAX;
  // The whole comes before its parts, so that the last part stays the last token of an unfinished query.
  const words = isCompound ? [parts.join(""), ...parts] : parts;
  return words.filter((word) => word.length > 1);
}

function cleanWord(part: string): string {
  const word = part.replace(/['’]s$/u, "").replaceAll(/['’]/gu, "");
  return LATIN_WORD.test(word) ? word.normalize("NFKD").replaceAll(MARKS, "") : word;
}

/** Returns the one or two characters of a term in a script without spaces; none for other terms. */
export function unspacedCharacters(term: string): string[] {
  return UNSPACED_START.test(term) ? Array.from(term) : [];
}

function characterPairs(run: string): string[] {
  const characters = Array.from(run); // code points
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}
