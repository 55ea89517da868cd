/** The stems that a given English word may stand for: a table derived from WordNet, read in place. */
import { loadOnce } from "../../platform/resilience/load-once.ts";
import { bytesOf, numbersOf, readDataFile, sectionOf, type Sections } from "../data/data-file.ts";
import { decodeWordList, encodeWordList } from "../data/word-list.ts";

export interface Expansion {
  readonly term: string;
  /** 0 to 1. */
  readonly weight: number;
}

export interface ExpansionTable {
  /** Whether it is an English word, apart from regular endings. Such a word is never "corrected". */
  hasWord(word: string): boolean;
  /** Stems of related words, strongest first, without duplicates and without the word's own stem. */
  expand(word: string): Expansion[];
}

const WEIGHT_UNIT = 1 / 255;
/** At most two lemmas are looked up: a word, and the word it may be a form of. */
const LEMMAS_MAX = 2;

export function encodeExpansions(table: ReadonlyMap<string, readonly Expansion[]>): Sections {
  const lemmas = [...table.keys()].sort();
  const terms = [...new Set([...table.values()].flat().map(({ term }) => term))].sort();
  if (terms.length > 0x1_0000) throw new Error(`${terms.length} stems do not fit into 16 bits.`);
  const numberOf = new Map(terms.map((term, i) => [term, i]));
  const lists = lemmas.map((lemma) => table.get(lemma) ?? []);
  const starts = new Uint32Array(lemmas.length + 1);
  for (const [i, list] of lists.entries()) starts[i + 1] = (starts[i] as number) + list.length;
  const pairs = lists.flat();
  return {
    ...encodeWordList("lemmas", lemmas),
    ...encodeWordList("terms", terms),
    starts: bytesOf(starts),
    pairTerms: bytesOf(Uint16Array.from(pairs, ({ term }) => numberOf.get(term) ?? 0)),
    pairWeights: Uint8Array.from(pairs, ({ weight }) => Math.round(weight / WEIGHT_UNIT)),
  };
}

export function decodeExpansions(sections: Sections): ExpansionTable {
  const lemmas = decodeWordList("lemmas", sections);
  const terms = decodeWordList("terms", sections);
  const starts = numbersOf(sections, "starts", Uint32Array);
  const pairTerms = numbersOf(sections, "pairTerms", Uint16Array);
  const pairWeights = sectionOf(sections, "pairWeights");

  function positions(word: string): number[] {
    const found: number[] = [];
    for (const form of uninflectedForms(word)) {
      const position = lemmas.find(form);
      if (position >= 0 && !found.includes(position)) found.push(position);
      if (found.length === LEMMAS_MAX) break;
    }
    return found;
  }
  return {
    hasWord: (word) => positions(word).length > 0,
    expand: (word) => {
      const best = new Map<string, number>();
      for (const position of positions(word)) {
        for (let k = starts[position] as number; k < (starts[position + 1] as number); k += 1) {
          const term = terms.at(pairTerms[k] as number);
          best.set(term, Math.max(best.get(term) ?? 0, (pairWeights[k] as number) * WEIGHT_UNIT));
        }
      }
      return [...best].map(([term, weight]) => ({ term, weight })).sort((a, b) => b.weight - a.weight);
    },
  };
}

export const loadExpansions: () => Promise<ExpansionTable> = loadOnce(async () =>
  decodeExpansions(await readDataFile("expansions.bin.gz")),
);

/** Endings and their replacements. */
const ENDINGS: readonly (readonly [RegExp, string])[] = [
  [/ies$/, "y"],
  [/ves$/, "f"],
  [/es$/, ""],
  [/s$/, ""],
  [/ing$/, ""],
  [/ing$/, "e"],
  [/([bdfgklmnprt])\1ing$/, "$1"],
  [/ed$/, ""],
  [/ed$/, "e"],
  [/er$/, ""],
  [/ied$/, "y"],
];

/** The word itself, then the words it may be a form of. */
function uninflectedForms(word: string): string[] {
  const forms = [word];
  for (const [ending, replacement] of ENDINGS) {
    const form = word.replace(ending, replacement);
    if (form !== word && form.length > 1) forms.push(form);
  }
  return forms;
}
