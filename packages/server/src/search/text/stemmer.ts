/**
 * The English stemmer of Snowball ("Porter2", https://snowballstem.org/algorithms/english/stemmer.html), so that
 * `running`, `runs` and `run` are one term. A test compares it with the stemmer inside PostgreSQL; it follows that of
 * PostgreSQL 18, which differs from 15 in `added`, `adding` and their like: 15 makes them `ad`.
 */

const EXCEPTIONS = new Map(
  Object.entries({
    skis: "ski",
    skies: "sky",
    dying: "die",
    lying: "lie",
    tying: "tie",
    idly: "idl",
    gently: "gentl",
    ugly: "ugli",
    early: "earli",
    only: "onli",
    singly: "singl",
    sky: "sky",
    news: "news",
    howe: "howe",
    atlas: "atlas",
    cosmos: "cosmos",
    bias: "bias",
    andes: "andes",
  }),
);
/** Words that stop after step 1a. */
const STOPPED = new Set(["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"]);

const VOWEL = /[aeiouy]/;
const DOUBLE = /(bb|dd|ff|gg|mm|nn|pp|rr|tt)$/;
/** A short syllable at the end: non-vowel, vowel, non-vowel other than w, x, Y; or a vowel first and a non-vowel. */
const SHORT_END = /([^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$/;

type Rule = readonly [suffix: string, replacement: string];

/** Longest suffix first: the first that fits decides, whether or not its condition holds. */
const STEP_2: readonly Rule[] = [
  ["ational", "ate"],
  ["fulness", "ful"],
  ["iveness", "ive"],
  ["ization", "ize"],
  ["ousness", "ous"],
  ["biliti", "ble"],
  ["lessli", "less"],
  ["tional", "tion"],
  ["alism", "al"],
  ["aliti", "al"],
  ["ation", "ate"],
  ["entli", "ent"],
  ["fulli", "ful"],
  ["iviti", "ive"],
  ["ousli", "ous"],
  ["abli", "able"],
  ["alli", "al"],
  ["anci", "ance"],
  ["ator", "ate"],
  ["enci", "ence"],
  ["izer", "ize"],
  ["bli", "ble"],
];
const STEP_3: readonly Rule[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["alize", "al"],
  ["icate", "ic"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
];
const STEP_4 = /(ement|ance|ence|able|ible|ment|ant|ent|ism|ate|iti|ous|ive|ize|al|er|ic)$/;

/** Stems one lower-case word. Words with letters outside a-z and the apostrophe come back as they are. */
export function stemEnglish(input: string): string {
  if (input.length < 3 || !/^[a-z']+$/.test(input)) return input;
  const exception = EXCEPTIONS.get(input);
  if (exception !== undefined) return exception;
  const marked = markConsonantY(input.startsWith("'") ? input.slice(1) : input);
  if (marked.length < 3) return marked.toLowerCase();
  const [r1, r2] = findRegions(marked);
  let word = removePlural(marked.replace(/'s?'?$/, ""));
  if (STOPPED.has(word)) return word;
  word = removePastAndProgressive(word, r1);
  word = word.replace(/(?<=.[^aeiouy])[yY]$/, "i");
  word = shortenLongSuffix(word, r1);
  word = removeAdjectiveEnding(word, r1, r2);
  word = removeNounEnding(word, r2);
  return removeFinalLetter(word, r1, r2).toLowerCase();
}

/** A y that begins the word or follows a vowel is a consonant; it is written Y from here on. */
function markConsonantY(word: string): string {
  let marked = "";
  for (const letter of word) {
    const isConsonant = letter === "y" && (marked === "" || /[aeiouy]$/.test(marked));
    marked += isConsonant ? "Y" : letter;
  }
  return marked;
}

/** R1 and R2: where the parts after the first and the second non-vowel that follows a vowel begin. */
function findRegions(word: string): [r1: number, r2: number] {
  const special = /^(gener|commun|arsen)/.exec(word);
  const r1 = special === null ? regionAfter(word, 0) : special[0].length;
  return [r1, regionAfter(word, r1)];
}

function regionAfter(word: string, from: number): number {
  const match = /[aeiouy][^aeiouy]/.exec(word.slice(from));
  return match === null ? word.length : from + match.index + 2;
}

function removePlural(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (/ie[sd]$/.test(word)) return word.length > 4 ? word.slice(0, -2) : word.slice(0, -1);
  if (/(us|ss)$/.test(word)) return word;
  return /[aeiouy].+s$/.test(word) ? word.slice(0, -1) : word;
}

function removePastAndProgressive(word: string, r1: number): string {
  const eed = /eed(ly)?$/.exec(word);
  if (eed !== null) return eed.index >= r1 ? `${word.slice(0, eed.index)}ee` : word;
  const ending = /(ed|edly|ing|ingly)$/.exec(word);
  if (ending === null) return word;
  const rest = word.slice(0, ending.index);
  if (!VOWEL.test(rest)) return word;
  if (/(at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (DOUBLE.test(rest)) return /^[aeo]..$/.test(rest) ? rest : rest.slice(0, -1); // add, egg, off keep both
  return rest.length <= r1 && SHORT_END.test(rest) ? `${rest}e` : rest;
}

function shortenLongSuffix(word: string, r1: number): string {
  for (const [suffix, replacement] of STEP_2) {
    if (word.endsWith(suffix)) return replaceIn(word, suffix, replacement, r1);
  }
  if (word.endsWith("ogi")) return word.at(-4) === "l" ? replaceIn(word, "ogi", "og", r1) : word;
  return /[cdeghkmnrt]li$/.test(word) ? replaceIn(word, "li", "", r1) : word;
}

function removeAdjectiveEnding(word: string, r1: number, r2: number): string {
  if (word.endsWith("ative")) return replaceIn(word, "ative", "", r2);
  for (const [suffix, replacement] of STEP_3) {
    if (word.endsWith(suffix)) return replaceIn(word, suffix, replacement, r1);
  }
  return word;
}

function removeNounEnding(word: string, r2: number): string {
  const ending = STEP_4.exec(word);
  if (ending !== null) return ending.index >= r2 ? word.slice(0, ending.index) : word;
  return /[st]ion$/.test(word) ? replaceIn(word, "ion", "", r2) : word;
}

function removeFinalLetter(word: string, r1: number, r2: number): string {
  const last = word.length - 1;
  if (word.endsWith("l")) return last >= r2 && word.at(-2) === "l" ? word.slice(0, -1) : word;
  if (!word.endsWith("e")) return word;
  const rest = word.slice(0, -1);
  return last >= r2 || (last >= r1 && !SHORT_END.test(rest)) ? rest : word;
}

function replaceIn(word: string, suffix: string, replacement: string, region: number): string {
  const start = word.length - suffix.length;
  return start >= region ? word.slice(0, start) + replacement : word;
}
