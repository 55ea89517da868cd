/**
 * Separates the thing that a query asks for from its context: `logo for a coffee shop` asks for a logo, and the coffee
 * shop is its context.
 */
import { tokenize, type Token } from "./analyser.ts";
import type { Vocabulary } from "./vocabulary.ts";

export interface QueryToken extends Token {
  /** The word comes after the words for the thing itself. */
  readonly isContext: boolean;
}

/** What follows these words is not the thing itself, but whom or what it is for, or what is in it. */
const CIRCUMSTANCE_BEGINS: ReadonlySet<string> = new Set(["for", "about", "of", "with"]);
/** Before one of these, `to` introduces a recipient; otherwise an action or a goal. */
const DETERMINERS: ReadonlySet<string> = new Set("a an the my our your his her their this these".split(" "));
/** Names for something that makes or does a thing, which applies to every prompt in the catalogue. */
const TOOLS: ReadonlySet<string> = new Set(
  "app assistant bot builder creator expert generator helper maker tool writer".split(" "),
);
/**
 * Needs .539 -> .679 on 4,098 prompts with everything that handles them; paraphrases of three sets +.002, -.005, and
 * +.025; words at most -.001. 0.4 costs paraphrases .001; 0.5 costs needs .010 and ranks a shop before a logo
 * (2026-11-23).
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
 * Weighs each word's share of the need, 0 to 1. Context words count less only if the catalogue has the thing itself;
 * otherwise they are the only clue.
 * @param words each with the catalogue word that it is read as.
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
