import { expect, test } from "vitest";
import { describeUnknownNames, INPUT_NAME_LENGTH_MAX, type KnownNames } from "./unknown-names.ts";

const known: KnownNames = { textInputs: { topic: {}, "Child's\nAge": {} }, runOptions: { quality: {} } };

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

test("a name of any length is shown cut, and one that is too long for an input is no slip of the hand", () => {
  const takes = "It takes: topic, Child's\\u000aAge.";
  const long = "topic".repeat(200_000);
  expect(describeUnknownNames(known, { inputs: [long], options: [] })).toEqual([
    `The prompt has no input "${"topic".repeat(8)}…". ${takes}`,
  ]);
  const longest = "n".repeat(INPUT_NAME_LENGTH_MAX);
  const withLongest: KnownNames = { textInputs: { [longest]: {} }, runOptions: {} };
  const hintOf = (name: string) =>
    describeUnknownNames(withLongest, { inputs: [name], options: [] })[0]?.split('". ')[1];
  expect(hintOf(longest.slice(1))).toBe(`Did you mean "${longest}"?`);
  expect(hintOf(`${longest}n`)).toBe(`It takes: ${longest}.`);
});

test("of many names the first twenty are said", () => {
  const inputs = Array.from({ length: 50 }, (_, i) => `no ${i}`);
  const said = describeUnknownNames(known, { inputs: ["topic", ...inputs], options: [] });
  expect(said).toHaveLength(20);
  expect(said[19]).toContain('"no 19"');
});
