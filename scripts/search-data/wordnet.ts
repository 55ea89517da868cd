/**
 * Converts WordNet's files to weighted expansions: other stems that a person may mean by a word.
 * Formats: wndb(5WN), senseidx(5WN). Weights: measured 2026-11 on the development queries of bench/search.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { contentTokens } from "../../packages/server/src/search/text/analyser.ts";

export interface Expansion {
  readonly term: string;
  /** 0 to 1. */
  readonly weight: number;
}

interface Pointer {
  readonly symbol: string;
  readonly target: string;
  /** 1-based word numbers; 0 stands for the whole synset. */
  readonly sourceWord: number;
  readonly targetWord: number;
}

interface Synset {
  readonly lemmas: readonly string[];
  readonly pointers: readonly Pointer[];
  /** The definition, without the examples. */
  readonly gloss: string;
}

interface Sense {
  readonly synset: string;
  readonly lemma: string;
  /** 0 for the most frequent sense of this part of speech. */
  readonly rank: number;
  readonly tagCount: number;
}

const FILES = [
  ["n", "noun"],
  ["v", "verb"],
  ["a", "adj"],
  ["r", "adv"],
] as const;

const SENSES_PER_LEMMA = 4;
const SYNONYM_WEIGHT = 0.8;
const GLOSS_WEIGHT = 0.18;
const GLOSS_IDF_FULL = 5;
/** Definitions of people contain years, but nobody who writes 1879 means Einstein. */
const YEAR = /^\d+$/;
/** A single word of `blind alley` says less than both together. */
const PART_OF_LEMMA = 0.35;
const RELATION_WEIGHTS: Readonly<Record<string, number>> = {
  "+": 0.6, // derivation
  "\\": 0.6, // pertainym
  "<": 0.6, // participle
  "&": 0.5, // similar
  "^": 0.5, // see also
  $: 0.5, // verb group
  "*": 0.5, // entailment
  ">": 0.5, // cause
  "@": 0.35, // hypernym
  "@i": 0.35,
  "~": 0.3, // hyponym
  "~i": 0.3,
  ";c": 0.25, // topic
  "-c": 0.25,
  ";r": 0.25, // region
  "-r": 0.25,
  ";u": 0.25, // usage
  "-u": 0.25,
  "#m": 0.25, // member, substance, part, both ways
  "#s": 0.25,
  "#p": 0.25,
  "%m": 0.25,
  "%s": 0.25,
  "%p": 0.25,
};

export interface TableOptions {
  /** Words that say little in prompts weigh less when a definition contains them. */
  readonly idf: (term: string) => number;
  readonly perLemma: number;
  readonly weightMin: number;
}

/** Every single-word lemma with its expansions, best first. A lemma without expansions is still an English word. */
export function buildExpansions(directory: string, options: TableOptions): Map<string, Expansion[]> {
  const synsets = readSynsets(directory);
  const senses = readSenses(directory);
  const frequency = new Map<string, number>();
  for (const [lemma, list] of senses) frequency.set(lemma, sum(list.map((sense) => sense.tagCount)));
  const table = new Map<string, Expansion[]>();
  for (const [lemma, list] of senses) {
    const word = singleWord(lemma);
    if (word === null) continue;
    const expansions = expandLemma(list, { synsets, frequency, idf: options.idf });
    const [own] = contentTokens(word);
    expansions.delete(own?.term ?? word);
    table.set(word, strongest([...expansions.values(), ...laterOf(table.get(word))], options));
  }
  return table;
}

interface Candidate extends Expansion {
  /** How often the word that it came from is used; breaks ties between equal weights. */
  readonly frequency: number;
}

interface Lexicon {
  readonly synsets: ReadonlyMap<string, Synset>;
  readonly frequency: ReadonlyMap<string, number>;
  readonly idf: (term: string) => number;
}

/** `e-mail` and `email` are one word to the analyser. */
function singleWord(lemma: string): string | null {
  const word = lemma.replaceAll(/[-.']/g, "");
  return /^[a-z0-9]+$/.test(word) && word.length > 1 ? word : null;
}

function laterOf(expansions: readonly Expansion[] | undefined): Candidate[] {
  return (expansions ?? []).map((expansion) => ({ ...expansion, frequency: 0 }));
}

function strongest(candidates: Candidate[], options: TableOptions): Expansion[] {
  const best = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const known = best.get(candidate.term);
    if (candidate.weight < options.weightMin || YEAR.test(candidate.term)) continue;
    if (known === undefined || known.weight < candidate.weight) best.set(candidate.term, candidate);
  }
  return [...best.values()]
    .sort((a, b) => b.weight - a.weight || b.frequency - a.frequency || (a.term < b.term ? -1 : 1))
    .slice(0, options.perLemma)
    .map(({ term, weight }) => ({ term, weight }));
}

function expandLemma(senses: readonly Sense[], lexicon: Lexicon): Map<string, Candidate> {
  const found = new Map<string, Candidate>();
  const offer = (lemma: string, weight: number) => {
    const words = contentTokens(lemma.replaceAll("_", " "));
    const scale = words.length > 1 ? PART_OF_LEMMA : 1;
    const frequency = lexicon.frequency.get(lemma) ?? 0;
    for (const { term } of words) keepStronger(found, { term, weight: weight * scale, frequency });
  };
  const total = sum(senses.map(massOf));
  const frequent = [...senses].sort((a, b) => massOf(b) - massOf(a)).slice(0, SENSES_PER_LEMMA);
  for (const sense of frequent) {
    const synset = lexicon.synsets.get(sense.synset);
    if (synset === undefined) throw new Error(`WordNet has no synset ${sense.synset}.`);
    const share = Math.sqrt(massOf(sense) / total);
    for (const lemma of synset.lemmas) if (lemma !== sense.lemma) offer(lemma, SYNONYM_WEIGHT * share);
    offerRelated(synset, sense.lemma, lexicon, (lemma, weight) => offer(lemma, weight * share));
    for (const { term } of contentTokens(synset.gloss)) {
      const weight = GLOSS_WEIGHT * share * Math.min(1, lexicon.idf(term) / GLOSS_IDF_FULL);
      keepStronger(found, { term, weight, frequency: 0 });
    }
  }
  return found;
}

function offerRelated(
  synset: Synset,
  lemma: string,
  lexicon: Lexicon,
  offer: (lemma: string, weight: number) => void,
): void {
  const wordNumber = synset.lemmas.indexOf(lemma) + 1;
  for (const pointer of synset.pointers) {
    const weight = RELATION_WEIGHTS[pointer.symbol];
    const target = lexicon.synsets.get(pointer.target);
    const isOurs = pointer.sourceWord === 0 || pointer.sourceWord === wordNumber;
    if (weight === undefined || target === undefined || !isOurs) continue;
    const lemmas = pointer.targetWord === 0 ? target.lemmas : target.lemmas.slice(pointer.targetWord - 1).slice(0, 1);
    for (const related of lemmas) offer(related, weight);
  }
}

function keepStronger(found: Map<string, Candidate>, candidate: Candidate): void {
  const known = found.get(candidate.term);
  if (known === undefined || known.weight < candidate.weight) found.set(candidate.term, candidate);
}

/** This sense's share of the lemma's use. Senses that never occur in the tagged texts get a small share, by rank. */
function massOf(sense: Sense): number {
  return sense.tagCount + 0.5 / (1 + sense.rank);
}

function readSynsets(directory: string): Map<string, Synset> {
  const synsets = new Map<string, Synset>();
  for (const [type, name] of FILES) {
    for (const line of linesOf(join(directory, `data.${name}`))) {
      synsets.set(`${type}${line.slice(0, 8)}`, parseSynset(line));
    }
  }
  return synsets;
}

function parseSynset(line: string): Synset {
  const bar = line.indexOf(" | ");
  const fields = line.slice(0, bar).split(" ");
  const wordCount = Number.parseInt(fields[3] ?? "", 16);
  const lemmas = Array.from({ length: wordCount }, (_, i) => cleanLemma(fields[4 + 2 * i] ?? ""));
  const first = 4 + 2 * wordCount;
  const pointers = Array.from({ length: Number(fields[first]) }, (_, i): Pointer => {
    const [symbol = "", offset = "", type = "", words = "0000"] = fields.slice(first + 1 + 4 * i, first + 5 + 4 * i);
    const sourceWord = Number.parseInt(words.slice(0, 2), 16);
    const targetWord = Number.parseInt(words.slice(2), 16);
    return { symbol, target: `${type === "s" ? "a" : type}${offset}`, sourceWord, targetWord };
  });
  const gloss = line.slice(bar + 3).split(";")[0] ?? "";
  return { lemmas, pointers, gloss };
}

/** Lower case, without the syntactic marker of adjectives: `awake(p)`. */
function cleanLemma(field: string): string {
  return field.replace(/\(\w+\)$/, "").toLowerCase();
}

function readSenses(directory: string): Map<string, Sense[]> {
  const types = ["n", "v", "a", "r", "a"]; // ss_type 1 to 5; 5 is the satellite adjective
  const senses = new Map<string, Sense[]>();
  for (const line of linesOf(join(directory, "index.sense"))) {
    const [key = "", offset = "", number = "", tagCount = ""] = line.split(" ");
    const [lemma = "", rest = ""] = key.split("%");
    const type = types[Number(rest[0]) - 1];
    if (type === undefined) throw new Error(`index.sense has no part of speech in ${key}.`);
    const sense = { synset: `${type}${offset}`, lemma, rank: Number(number) - 1, tagCount: Number(tagCount) };
    senses.set(lemma, [...(senses.get(lemma) ?? []), sense]);
  }
  return senses;
}

/** Removes the license at the start of each file, whose lines begin with a space. */
function linesOf(file: string): string[] {
  return readFileSync(file, "latin1")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith(" "));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
