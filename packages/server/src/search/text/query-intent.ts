/**
 * What a need is for most, and what only surrounds it: of `logo for a coffee shop` the logo is wanted, and the coffee
 * shop is where it will hang.
 */
import { tokenize, type Token } from "./analyser.ts";
import type { Vocabulary } from "./vocabulary.ts";

export interface QueryToken extends Token {
  /** It stands after the words that name the thing itself. */
  readonly isContext: boolean;
}

/** After these no longer the thing itself is named, but whom or what it is for, or what is in it. */
const CIRCUMSTANCE_BEGINS: ReadonlySet<string> = new Set(["for", "about", "of", "with"]);
/** `to` names a receiver before one of these, and an action or a goal elsewhere. */
const DETERMINERS: ReadonlySet<string> = new Set("a an the my our your his her their this these".split(" "));
/** Names of whatever makes or does a thing: in a catalogue of prompts all of them do. */
const TOOLS: ReadonlySet<string> = new Set(
  "app assistant bot builder creator expert generator helper maker tool writer".split(" "),
);
/**
 * Needs .539 -> .679 on 4,098 prompts with all that knows them, paraphrases of three sets +.002, -.005 and +.025, words
 * -.001 at most. 0.4 costs paraphrases .001, 0.5 costs needs .010 and lets a shop come before a logo (2026-11-23).
 */
const CIRCUMSTANCE_WEIGHT = 0.45;
/** Needs .669 -> .678, typing errors -.001 (2026-11-23). */
const TOOL_WEIGHT = 0.5;

/** The tokens that carry meaning. */
export function tokensOfQuery(query: string): QueryToken[] {
  const all = tokenize(query);
  const begin = all.findIndex((token, i) => beginsCircumstance(token, all[i + 1]) && hasContent(all.slice(0, i)));
  return all.map((token, i) => ({ ...token, isContext: begin >= 0 && i > begin })).filter((token) => !token.isStopWord);
}

function beginsCircumstance(token: Token, next: Token | undefined): boolean {
  if (token.isQuoted) return false;
  return (
    CIRCUMSTANCE_BEGINS.has(token.word) || (token.word === "to" && next !== undefined && DETERMINERS.has(next.word))
  );
}

function hasContent(tokens: readonly Token[]): boolean {
  return tokens.some(({ isStopWord }) => !isStopWord);
}

/**
 * How much of the need each word is, 0 to 1. Circumstances count less only where the catalogue has the thing itself:
 * otherwise they are all there is to go by.
 * @param words each with the word of the catalogue as which it is read.
 */
export function weighWords(
  words: readonly { readonly token: QueryToken; readonly reading: { readonly word: string } }[],
  vocabulary: Vocabulary,
): number[] {
  const head = words.filter(({ token }) => !token.isContext);
  const hasThing = head.every(({ reading }) => (vocabulary.find(reading.word)?.titleCount ?? 0) > 0);
  return words.map(({ token, reading }) => {
    if (token.isContext) return hasThing ? CIRCUMSTANCE_WEIGHT : 1;
    return head.length > 1 && TOOLS.has(reading.word) ? TOOL_WEIGHT : 1;
  });
}
