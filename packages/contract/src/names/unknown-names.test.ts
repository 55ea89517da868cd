import { expect, test } from "vitest";
import type { PromptConfig } from "../prompts.ts";
import { describeUnknownNames } from "./unknown-names.ts";

type Known = Pick<PromptConfig, "textInputs" | "runOptions">;
const field = {} as PromptConfig["textInputs"][string];
const known: Known = {
  textInputs: { topic: field, "Child's\nAge": field },
  runOptions: { quality: { default: null, options: [] } },
};

test("every name that a prompt does not have is named, with what was meant or what it takes", () => {
  const given = { inputs: ["topic", "Tpoic", "x\u001b[2J"], options: ["qualty", "size"] };
  expect(describeUnknownNames(known, given)).toEqual([
    'The prompt has no input "Tpoic". Did you mean "topic"?',
    'The prompt has no input "x\\u001b[2J". It takes: topic, Child\'s\\u000aAge.',
    'The prompt has no option "qualty". Did you mean "quality"?',
    'The prompt has no option "size". It takes: quality.',
  ]);
  const nothing = { textInputs: {}, runOptions: {} };
  expect(describeUnknownNames(nothing, { inputs: ["a"], options: [] })).toEqual([
    'The prompt has no input "a". It takes no inputs.',
  ]);
  expect(describeUnknownNames(known, { inputs: ["topic"], options: ["quality"] })).toEqual([]);
});
