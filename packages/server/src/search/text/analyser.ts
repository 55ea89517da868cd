/**
 * Text to terms: one module for documents and queries, since a term that is made in two ways is never found.
 * PostgreSQL's own parser is not used: there `C++` and `C#` both become `c`, a Chinese phrase is one token and a
 * query of stop words is empty (measured 2026-11).
 */
import { stem } from "porter2";

/** Raise it when the same text gives other terms than before: documents of an older version are indexed again. */
export const ANALYSER_VERSION = 3;

/**
 * Words that carry no subject. The first block is the usual English list, contractions written without their
 * apostrophe; the second holds what people write around the subject when they ask a prompt catalogue for something.
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

/** A word, in lower case, that carries no subject in English. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

export interface Token {
  /** Lower case, accents of Latin words stripped; what the speller compares. */
  readonly word: string;
  /** The stem; what postings, expansions and vectors are filed under. */
  readonly term: string;
  readonly isStopWord: boolean;
  /** Written in double quotes: neither corrected nor expanded. */
  readonly isQuoted: boolean;
  /** Nothing but white space follows it. */
  readonly isLast: boolean;
}

/** Scripts written without spaces: their runs become overlapping pairs of characters. */
const UNSPACED =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}ー";
const LETTER = `(?![${UNSPACED}])[\\p{L}\\p{M}]`;
/**
 * A run of an unspaced script; or letters with digits and letters by turns (gpt4, gpt4o, k8s), `+` or `#` after them
 * (c++, c#), or digits with letters after them (3d, 2024), joined by single dots, hyphens or underscores into a
 * compound (node.js, gpt-4o).
 */
const PART = `(?:(?:${LETTER})+(?:['’](?:${LETTER})+)*(?:\\p{Nd}+(?:${LETTER})+)*\\p{Nd}*(?:\\+{1,2}|#)?|\\p{Nd}+(?:${LETTER})*)`;
const TOKEN = new RegExp(
  `[${UNSPACED}](?:[${UNSPACED}]|\\p{M})*|(?<![\\p{L}\\p{Nd}])\\.net(?![\\p{L}\\p{Nd}])|${PART}(?:[.\\-_]${PART})*`,
  "gu",
);
const PART_PATTERN = new RegExp(PART, "gu");
/** In `gpt4turbo` a word begins after the digits, in `k8s`, `gpt4o` and `a11y` none does. */
const WORD_AFTER_DIGITS = /(?<=\p{L}\p{Nd}+)(?=\p{L}{3})/u;
const UNSPACED_START = new RegExp(`^[${UNSPACED}]`, "u");
const LATIN_WORD = /^[\p{Script=Latin}\p{M}\p{Nd}'+#.]+$/u;
const MARKS = /\p{M}+/gu;
const COMPOUND_PARTS_MAX = 4;

/** A private copy of any text in one spelling: well formed, NFKC, lower case, without NUL. */
export function foldText(text: string): string {
  return text.toWellFormed().normalize("NFKC").toLowerCase().replaceAll("\0", " ");
}

/** Two units for each of the 200 characters of a query. */
const FOLDED_MAX = 400;

/** The query, but of one whose characters become many when folded (one of Arabic eighteen) the folded beginning. */
export function cutQuery(query: string): string {
  const folded = foldText(query);
  return folded.length <= FOLDED_MAX ? query : folded.slice(0, FOLDED_MAX);
}

/** The form in which a query and a title are the same title. */
export function titleKey(text: string): string {
  return foldText(text).trim().replaceAll(/\s+/gu, " ");
}

/**
 * The looser form for titles typed without their spaces, signs and accents: letters and digits alone. `+` and `#`
 * after a letter or digit tell languages apart and stay. Empty for a title of signs.
 */
export function titleLetters(text: string): string {
  return titleKey(text)
    .normalize("NFD")
    .replaceAll(/(\p{Script=Latin})\p{M}+/gu, "$1")
    .normalize("NFC")
    .replaceAll(/([\p{L}\p{M}\p{N}](?:\+{1,2}|#))|[^\p{L}\p{M}\p{N}]/gu, "$1");
}

/**
 * All tokens in reading order, stop words included and marked. Words of one character are dropped, except in scripts
 * where a character is a word. A compound gives its parts and, joined, itself (`gpt-4o`: gpt, 4o, gpt4o;
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

/** `running`, `runs` and `run` are one term (Snowball's English stemmer). Words of other letters stay as they are. */
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
  // The whole stands before its parts, so that the last part stays the last token of an unfinished query.
  const words = isCompound ? [parts.join(""), ...parts] : parts;
  return words.filter((word) => word.length > 1);
}

function cleanWord(part: string): string {
  const word = part.replace(/['’]s$/u, "").replaceAll(/['’]/gu, "");
  return LATIN_WORD.test(word) ? word.normalize("NFKD").replaceAll(MARKS, "") : word;
}

/** The characters of a term of a script without spaces, one or two of them; none for any other term. */
export function unspacedCharacters(term: string): string[] {
  return UNSPACED_START.test(term) ? Array.from(term) : [];
}

function characterPairs(run: string): string[] {
  const characters = Array.from(run); // code points
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}
