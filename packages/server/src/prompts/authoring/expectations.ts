/** What a test expects of a text, checked without a model. */
import { readJsonAnswer } from "../../models/index.ts";
import { codePointLength } from "../text-input-rules.ts";
import type { Expectations } from "../prompt-definition.ts";
import { matchPattern, type MatchOptions } from "./match-pattern.ts";

export const NO_TEXT = "The last step makes no text, so nothing can be expected of it.";

/** What does not hold, one sentence each; statements for a judge are left out. */
export async function compareText(text: string, expect: Expectations, how: MatchOptions = {}): Promise<string[]> {
  const { contains = [], notContains = [], matches, shorterThan, schema } = expect;
  const read = schema === undefined ? null : readJsonAnswer(schema, text);
  return [
    ...contains.filter((part) => !text.includes(part)).map((part) => `contains: "${part}" is missing.`),
    ...notContains.filter((part) => text.includes(part)).map((part) => `notContains: "${part}" is there.`),
    ...(matches === undefined ? [] : await unmatched(matches, text, how)),
    ...(shorterThan === undefined || codePointLength(text) < shorterThan
      ? []
      : [`shorterThan: it has ${codePointLength(text)} characters, not fewer than ${shorterThan}.`]),
    ...(read?.kind === "unfit" ? [`schema: ${read.problem}`] : []),
  ];
}

async function unmatched(pattern: string, text: string, how: MatchOptions): Promise<string[]> {
  const matches = await matchPattern(pattern, text, how);
  if (matches === null) return [`matches: ${pattern} took too long. Write it without nested repeats.`];
  return matches ? [] : [`matches: ${pattern} does not match.`];
}
