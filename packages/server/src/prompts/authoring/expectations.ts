/** Checks a test's expectations of a text without a model. */
import { readJsonAnswer } from "../../models/index.ts";
import { codePointLength } from "../text-input-rules.ts";
import type { Expectations } from "../prompt-definition.ts";
import { matchPattern, type MatchOptions } from "./match-pattern.ts";

export const NO_TEXT = "The last step does not output text, so there is nothing to check.";

/** @returns the expectations that are not met, one sentence each. Statements for a judge are left out. */
export async function compareText(text: string, expect: Expectations, options: MatchOptions = {}): Promise<string[]> {
  const { contains = [], notContains = [], matches, shorterThan, schema } = expect;
  const read = schema === undefined ? null : readJsonAnswer(schema, text);
  return [
    ...contains.filter((part) => !text.includes(part)).map((part) => `contains: "${part}" is missing.`),
    ...notContains.filter((part) => text.includes(part)).map((part) => `notContains: "${part}" is present.`),
    ...(matches === undefined ? [] : await unmatched(matches, text, options)),
    ...(shorterThan === undefined || codePointLength(text) < shorterThan
      ? []
      : [`shorterThan: the text has ${codePointLength(text)} characters; expected fewer than ${shorterThan}.`]),
    ...(read?.kind === "unfit" ? [`schema: ${read.problem}`] : []),
  ];
}

async function unmatched(pattern: string, text: string, options: MatchOptions): Promise<string[]> {
  const matches = await matchPattern(pattern, text, options);
  if (matches === null) return [`matches: ${pattern} took too long. Rewrite it without nested quantifiers.`];
  return matches ? [] : [`matches: ${pattern} does not match.`];
}
