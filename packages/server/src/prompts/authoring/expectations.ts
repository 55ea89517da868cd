/** What a test expects of a text, checked without a model. */
import { readJsonAnswer } from "../../models/index.ts";
import { codePointLength } from "../input-rules.ts";
import type { Expectations } from "../prompt-definition.ts";

export const NO_TEXT = "The last step makes no text, so nothing can be expected of it.";

/** What does not hold, one sentence each; statements for a judge are left out. */
export function compareText(text: string, expect: Expectations): string[] {
  const { contains = [], notContains = [], matches, shorterThan, schema } = expect;
  const read = schema === undefined ? null : readJsonAnswer(schema, text);
  return [
    ...contains.filter((part) => !text.includes(part)).map((part) => `contains: "${part}" is missing.`),
    ...notContains.filter((part) => text.includes(part)).map((part) => `notContains: "${part}" is there.`),
    ...(matches === undefined || new RegExp(matches, "u").test(text) ? [] : [`matches: ${matches} does not match.`]),
    ...(shorterThan === undefined || codePointLength(text) < shorterThan
      ? []
      : [`shorterThan: it has ${codePointLength(text)} characters, not fewer than ${shorterThan}.`]),
    ...(read?.kind === "unfit" ? [`schema: ${read.problem}`] : []),
  ];
}
