/** Catalogues of any size for measuring time: with realistic growth, and with prompts that make some queries expensive. */
import type { CorpusPrompt } from "./evaluation-data.ts";

/** Heaps' law: twice as many prompts have about one and a half times as many words. */
const VOCABULARY_EXPONENT = 0.6;

/**
 * Returns `count` prompts: the corpus first, then titles, descriptions, and tags of different prompts combined, so that
 * word frequencies stay realistic. Each adds as many new words as real growth would. The result is always the same.
 */
export function growCatalogue(corpus: readonly CorpusPrompt[], count: number): CorpusPrompt[] {
  const pick = (i: number, step: number) => corpus[(i * step + Math.floor(i / corpus.length) * 7919) % corpus.length];
  const words = wordsOf(corpus);
  const wordsAt = (prompts: number) => Math.floor(words.length * (prompts / corpus.length) ** VOCABULARY_EXPONENT);
  return Array.from({ length: count }, (_, i) => {
    const own = corpus[i];
    if (own !== undefined) return own;
    const [title, description, tags] = [pick(i, 31), pick(i, 47), pick(i, 101)];
    const added = Array.from({ length: wordsAt(i + 1) - wordsAt(i) }, (_word, k) => newWord(words, wordsAt(i) + k));
    return {
      id: promptId(4, i),
      title: `${title?.title ?? ""} ${i}`,
      description: [description?.description ?? "", ...added].join(" "),
      tags: tags?.tags ?? [],
      variables: tags?.variables ?? [],
    };
  });
}

function wordsOf(corpus: readonly CorpusPrompt[]): string[] {
  const texts = corpus.map(({ title, description }) => `${title} ${description}`.toLowerCase());
  return [...new Set(texts.join(" ").match(/\b[a-z]{4,}\b/g))].toSorted();
}

/** The first half of one word and the second half of another: it reads like a word and has common letters. */
function newWord(words: readonly string[], n: number): string {
  const first = words[(n * 7919) % words.length] ?? "";
  const second = words[(n * 104_729 + Math.floor(n / words.length) * 31 + 11) % words.length] ?? "";
  return `${first.slice(0, Math.ceil(first.length / 2))}${second.slice(Math.floor(second.length / 2))}`;
}

const COMMON_CHARACTER = "的";
const FIRST_CHARACTER = 0x4e00;
const COUNTS = { pairs: 4_000, pairsPerPrompt: 10, longTitles: 200, sameTitles: 500, stopWordTitles: 2_000 };
const SAME_TITLE = "Untitled draft";

/** Prompts that a catalogue may have, and that make certain queries expensive. */
export function dearPrompts(): CorpusPrompt[] {
  const empty = { description: "", tags: [], variables: [] };
  const pairs = Array.from(
    { length: COUNTS.pairs },
    (_, i) => COMMON_CHARACTER + String.fromCodePoint(FIRST_CHARACTER + i),
  );
  const chinese = Array.from({ length: COUNTS.pairs / COUNTS.pairsPerPrompt }, (_, i) => ({
    ...empty,
    id: promptId(5, i),
    title: `提示 ${i}`,
    description: pairs.slice(i * COUNTS.pairsPerPrompt, (i + 1) * COUNTS.pairsPerPrompt).join(" "),
  }));
  const long = Array.from({ length: COUNTS.longTitles }, (_, i) => ({
    ...empty,
    id: promptId(6, i),
    title: `${i} ${LONG_TEXT}`.slice(0, 120),
  }));
  const same = Array.from({ length: COUNTS.sameTitles }, (_, i) => ({
    ...empty,
    id: promptId(7, i),
    title: SAME_TITLE,
  }));
  const stopWords = Array.from({ length: COUNTS.stopWordTitles }, (_, i) => ({
    ...empty,
    id: promptId(8, i),
    title: `What ${i}`,
  }));
  return [...chinese, ...long, ...same, ...stopWords];
}

const LONG_TEXT =
  "creative prompt generator design image business writing assistant marketing content strategy planner analysis research";

function promptId(kind: number, n: number): string {
  return `00000000-0000-4000-8000-${kind}${n.toString(16).padStart(11, "0")}`;
}

const QUERY_MAX = 200;

/**
 * Queries designed to block the process, by name. They differ by round, so that nothing cached from the previous round
 * is measured.
 */
export const EXPENSIVE_QUERIES: Readonly<Record<string, (round: number) => string>> = {
  "unknown words of common letters": (round) => fill((i) => `${shuffled("tarinoses", 31 * round + i)} `),
  "unknown long words of common letters": (round) => fill((i) => `${shuffled("interantoinals", 31 * round + i)} `),
  "unknown short words": (round) => fill((i) => `${shuffled("seriato", 31 * round + i)} `),
  "words shortened by counting letters": (round) => fill((i) => `${letter(i + round)}${5 + (i % 9)}${letter(3 * i)} `),
  "one character again and again": () => fill(() => `${COMMON_CHARACTER} `),
  "different characters": (round) => fill((i) => `${String.fromCodePoint(FIRST_CHARACTER + 41 * round + i)} `),
  "a long text against long titles": (round) => `${round} ${LONG_TEXT} ${LONG_TEXT}`.slice(0, QUERY_MAX),
  "characters that become eighteen": () => fill(() => "\ufdfa"),
  "an unfinished word of two letters": (round) => `${["co", "re", "pr", "in", "de", "st", "ca"][round % 7]}`,
  "the same words again and again": () => fill((i) => `${["design ", "image ", "prompt ", "create "][i % 4]}`),
  "different words": (round) => fill((i) => `${LONG_TEXT.split(" ")[(i + round) % 14]} `),
  "one word of 200 letters": (round) => letter(round).repeat(QUERY_MAX),
  "stop words that titles begin with": () => "what",
  "a title that hundreds have": () => SAME_TITLE,
};

/** Adds pieces until the text is as long as a query may be. */
function fill(piece: (i: number) => string): string {
  let text = "";
  for (let i = 0; Array.from(text).length < QUERY_MAX; i += 1) text += piece(i);
  return Array.from(text).slice(0, QUERY_MAX).join("");
}

function letter(n: number): string {
  return String.fromCodePoint(97 + (n % 26));
}

/** The same letters in another order, which depends only on the seed. */
function shuffled(word: string, seed: number): string {
  const letters = Array.from(word);
  let state = seed + 1;
  for (let i = letters.length - 1; i > 0; i -= 1) {
    state = (state * 48_271) % 0x7fff_ffff;
    const other = state % (i + 1);
    [letters[i], letters[other]] = [letters[other] as string, letters[i] as string];
  }
  return letters.join("");
}
