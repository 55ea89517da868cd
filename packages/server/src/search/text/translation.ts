/**
 * Translates queries in German, French, Spanish, Portuguese, and Italian into English word by word, since prompts,
 * their vectors, and WordNet are in English. Words that are not in the word list stay as written.
 */
import { readFile } from "node:fs/promises";
import { loadOnce } from "../../platform/resilience/load-once.ts";
import { foldText, isStopWord } from "./analyser.ts";
import type { WeightedWord } from "./speller.ts";

export interface Translation {
  /** The query in English. */
  readonly text: string;
  /** English word -> alternatives to search in its place: the original word, and its other meanings. */
  readonly others: ReadonlyMap<string, readonly WeightedWord[]>;
}

/** What is known about a word apart from the list. */
interface Words {
  readonly isEnglish: (word: string) => boolean;
  /** Whether a title in the catalogue has the word as written. */
  readonly isTitled: (word: string) => boolean;
}

export interface Translator {
  /** Null for a query that is more likely English, or in a language that is not in the list. */
  translate(query: string, known: Words): Translation | null;
  /**
   * Whether the query has only stop words of one language, at least one of which English does not have: `für`, `pour
   * une`. The analyser knows English stop words.
   */
  isOfSmallWords(query: string, isEnglish: (word: string) => boolean): boolean;
}

/** Columns of the file after the English one. */
const LANGUAGES = ["German", "French", "Spanish", "Portuguese", "Italian"] as const;
type Language = (typeof LANGUAGES)[number];

/** English meanings, in the order of the file; "" for a stop word. */
type Meanings = readonly string[];

interface WordList {
  /** Keyed by words as in the file. */
  readonly exact: Map<string, Meanings>;
  /** Keyed by simplified forms of words and phrases. */
  readonly similar: Map<string, Meanings>;
}

const FILE = new URL("../../../search-data/translations.txt", import.meta.url);
const SHORT_WORD = 3;
const STEM_MIN = 3;
const PHRASE_WORDS_MAX = 3;
/** With shorter parts, a compound could be split in too many ways. */
const COMPOUND_PART_MIN = 4;
/** Letters that German puts between the parts of a compound. */
const LINKS = ["", "s", "n", "en", "es", "er"];
/** The English meaning of a folded word must not count like its meaning in its own language. */
const FALSE_FRIEND_WEIGHT = 0.3;
const OTHER_MEANING_WEIGHT = 0.6;

export const loadTranslator: () => Promise<Translator> = loadOnce(async () =>
  createTranslator(await readFile(FILE, "utf8")),
);

export function createTranslator(file: string): Translator {
  let dictionary: Dictionary | null = null;
  const open = () => (dictionary ??= readDictionary(file)); // on the first query: it takes 20 ms that startup should not wait for
  return {
    translate: (query, known) => {
      const { lists, english } = open();
      const words = wordsOf(query);
      const isEnglish = (word: string) =>
        [word, word.replaceAll("-", "")].some((form) => english.has(form) || known.isEnglish(form));
      // Words in double quotes are used as written.
      if (words.length === 0 || query.includes('"')) return null;
      const list = findLanguage(words, lists, isEnglish);
      return list === null ? null : translateWords(words, list, { ...known, isEnglish });
    },
    isOfSmallWords: (query, isEnglish) => {
      const { lists } = open();
      const words = wordsOf(query);
      return !query.includes('"') && [...lists.values()].some((list) => areSmall(words, list, isEnglish));
    },
  };
}

interface Dictionary {
  readonly lists: ReadonlyMap<Language, WordList>;
  readonly english: ReadonlySet<string>;
}

function readDictionary(file: string): Dictionary {
  const lines = file.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const english = new Set(lines.flatMap((line) => wordsOf(line.split("|")[0] ?? "")));
  return { lists: readLists(lines), english };
}

function readLists(lines: readonly string[]): ReadonlyMap<Language, WordList> {
  const lists = new Map<Language, WordList>(
    LANGUAGES.map((language) => [language, { exact: new Map(), similar: new Map() }]),
  );
  for (const line of lines) addLine(lists, line);
  return lists;
}

function addLine(lists: ReadonlyMap<Language, WordList>, line: string): void {
  const [english = "", ...columns] = line.split("|");
  const meaning = english === "-" ? "" : english.toLowerCase();
  for (const [i, list] of [...lists.values()].entries()) {
    for (const phrase of columns[i]?.split(",") ?? []) addPhrase(list, phrase, meaning);
  }
}

function addPhrase(list: WordList, phrase: string, english: string): void {
  const words = wordsOf(phrase);
  const content = words.filter((word) => !list.exact.get(word)?.includes(""));
  addMeaning(list.similar, (content.length > 0 ? content : words).map(keyOf).join(" "), english);
  const [word] = words;
  if (word !== undefined && words.length === 1) addMeaning(list.exact, word, english);
}

function addMeaning(meanings: Map<string, Meanings>, key: string, english: string): void {
  const known = meanings.get(key) ?? [];
  if (!known.includes(english)) meanings.set(key, [...known, english]);
}

/** Elided articles (l'amour) are separate words; e-mail is one word. */
function wordsOf(text: string): string[] {
  return foldText(text).match(/[\p{L}\p{M}\p{Nd}+#]+(?:-[\p{L}\p{M}\p{Nd}]+)*/gu) ?? [];
}

/**
 * Roughly what the forms of a word have in common in all five languages: without accents, plural, gender, and
 * infinitive endings. A short word stays unchanged: `für` is not fur.
 */
function keyOf(word: string): string {
  if (word.length <= SHORT_WORD) return `=${word}`;
  const plain = stripAccents(word).replace(/(?:oes|aes)$/, "ao");
  return [/[sx]$/, /(?:[aei]re|[aei]r|e[nmrz])$/, /[aeiou]+$/].reduce((form, ending) => {
    const shorter = form.replace(ending, "");
    return shorter.length < STEM_MIN ? form : shorter;
  }, plain);
}

function stripAccents(word: string): string {
  return word
    .replaceAll("ß", "ss")
    .replaceAll("œ", "oe")
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "");
}

/** Finds the language that most words suggest, if they suggest it more than English. */
function findLanguage(
  words: readonly string[],
  lists: ReadonlyMap<Language, WordList>,
  isEnglish: (word: string) => boolean,
): WordList | null {
  let best: { list: WordList; lead: number } | null = null;
  for (const list of lists.values()) {
    const lead = words.reduce((sum, word, i) => {
      const isPhrase = longestPhrase(words.slice(i), list).length > 1;
      return sum + (isPhrase ? SURE : 0) + leadOf(word, list, isEnglish);
    }, 0);
    if (lead >= SURE && lead > (best?.lead ?? 0)) best = { list, lead };
  }
  return best?.list ?? null;
}

const SURE = 2;

/** How much more the word suggests the language than English. A word that is only similar may be an English typo. */
function leadOf(word: string, list: WordList, isEnglish: (word: string) => boolean): number {
  const meanings = meaningsOf(word, list);
  if (meanings === null) return isStopWord(word) ? -SURE : isEnglish(word) ? -1 : 0;
  if (isStopWord(word)) return isSubjectless(meanings) ? 0 : -1;
  if (isEnglish(word)) return isSubjectless(meanings) && word.length <= SHORT_WORD ? 1 : 0;
  if (!isSubjectless(meanings) && isEnglish(stripAccents(word))) return 0; // résumé, café
  return isWrittenSo(word, list) ? SURE : 1;
}

/** Two letters are nearly always an abbreviation in English. */
const ENGLISH_WORD_MIN = 3;

function areSmall(words: readonly string[], list: WordList, isEnglish: (word: string) => boolean): boolean {
  const isSmall = (word: string) => {
    const meanings = list.exact.get(word);
    return meanings !== undefined && isSubjectless(meanings);
  };
  const isForeign = (word: string) =>
    isSmall(word) && !isStopWord(word) && !(word.length >= ENGLISH_WORD_MIN && isEnglish(word));
  return words.every((word) => isStopWord(word) || isSmall(word)) && words.some(isForeign);
}

const PLURALS = [/s$/, /n$/, /es$/, /en$/];

function isWrittenSo(word: string, list: WordList): boolean {
  const forms = [word, ...PLURALS.map((ending) => word.replace(ending, ""))];
  return forms.some((form) => list.exact.has(form)) || splitCompound(word, list) !== null;
}

function isSubjectless(meanings: readonly string[]): boolean {
  return meanings.every((english) => english === "" || isStopWord(english));
}

function meaningsOf(word: string, list: WordList): Meanings | null {
  return singleMeanings(word, list) ?? splitCompound(word, list);
}

function singleMeanings(word: string, list: WordList): Meanings | undefined {
  return list.exact.get(word) ?? list.similar.get(keyOf(word));
}

/** `Reisetagebuch`: finds the meanings of both parts. Other languages write such words separately. */
function splitCompound(word: string, list: WordList): string[] | null {
  for (let at = word.length - COMPOUND_PART_MIN; at >= COMPOUND_PART_MIN; at -= 1) {
    const last = singleMeanings(word.slice(at), list)?.[0];
    if (last === undefined || last === "") continue;
    for (const link of LINKS) {
      const start = word.slice(0, at);
      if (!start.endsWith(link) || start.length - link.length < COMPOUND_PART_MIN) continue;
      const first = singleMeanings(start.slice(0, start.length - link.length), list)?.[0];
      if (first !== undefined && first !== "") return [`${first} ${last}`];
    }
  }
  return null;
}

/**
 * If titles in the catalogue have every word, the catalogue itself uses the language: the words stay as written, and
 * only stop words are removed.
 */
function translateWords(words: readonly string[], list: WordList, { isEnglish, isTitled }: Words): Translation | null {
  const isOwn = words.every((word) => isSubjectless(meaningsOf(word, list) ?? [word]) || isTitled(stripAccents(word)));
  const text: string[] = [];
  const others = new Map<string, WeightedWord[]>();
  for (let i = 0; i < words.length;) {
    const { meanings, length } = longestPhrase(words.slice(i), list);
    const written = words.slice(i, i + length);
    const [first, ...more] = meanings;
    const isUntranslated = first === undefined || (isOwn && !isSubjectless(meanings));
    if (isUntranslated) text.push(...written.map((word) => (isEnglish(word) || isOwn ? word : `"${word}"`)));
    else text.push(first);
    const [key] = first?.split(" ") ?? [];
    if (key !== undefined && !isUntranslated && !isSubjectless(meanings))
      others.set(key, [...(others.get(key) ?? []), ...otherWords(written, more, isEnglish)]);
    i += length;
  }
  const english = text.filter((word) => word !== "");
  return english.every(isStopWord) ? null : { text: english.join(" "), others };
}

interface Phrase {
  /** Empty for a word that is not in the list. */
  readonly meanings: readonly string[];
  /** Number of query words that it covers. */
  readonly length: number;
}

/** Ignores stop words inside a phrase: `lettre de motivation`. */
function longestPhrase(words: readonly string[], list: WordList): Phrase {
  const [word = ""] = words;
  const own = meaningsOf(word, list) ?? [];
  let phrase: Phrase = { meanings: own, length: 1 };
  if (own.length > 0 && isSubjectless(own)) return phrase;
  const keys: string[] = [];
  for (const [i, next] of words.entries()) {
    if (list.exact.get(next)?.includes("")) continue;
    keys.push(keyOf(next));
    if (keys.length > PHRASE_WORDS_MAX) break;
    const meanings = keys.length > 1 ? list.similar.get(keys.join(" ")) : undefined;
    if (meanings !== undefined) phrase = { meanings, length: i + 1 };
  }
  return phrase;
}

function otherWords(
  written: readonly string[],
  meanings: readonly string[],
  isEnglish: (word: string) => boolean,
): WeightedWord[] {
  return [
    ...written.map((word) => {
      const plain = stripAccents(word);
      return { word: plain, weight: plain !== word && isEnglish(plain) ? FALSE_FRIEND_WEIGHT : 1 };
    }),
    ...meanings
      .filter((meaning) => meaning !== "")
      .flatMap((meaning) => meaning.split(" ").map((word) => ({ word, weight: OTHER_MEANING_WEIGHT }))),
  ];
}
