import { expect, test } from "vitest";
import { describeUnknownNames, INPUT_NAME_LENGTH_MAX, type KnownNames } from "./unknown-names.ts";

const known: KnownNames = { textInputs: { topic: {}, "Child's\nAge": {} }, runOptions: { quality: {} } };

test("each unknown name is reported with the likely intended name or the known names", () => {
  const given = { inputs: ["topic", "Tpoic", "x\u001b[2J"], options: ["qualty", "size"] };
  expect(describeUnknownNames(known, given)).toEqual([
    'The prompt has no input "Tpoic". Did you mean "topic"?',
    'The prompt has no input "x\\u001b[2J". Its inputs: topic, Child\'s\\u000aAge.',
    'The prompt has no option "qualty". Did you mean "quality"?',
    'The prompt has no option "size". Its options: quality.',
  ]);
  const nothing = { textInputs: {}, runOptions: {} };
  expect(describeUnknownNames(nothing, { inputs: ["a"], options: [] })).toEqual([
    'The prompt has no input "a". It has no inputs.',
  ]);
  expect(describeUnknownNames(known, { inputs: ["topic"], options: ["quality"] })).toEqual([]);
});

test("a long name is cut in the message, and a name longer than any input name is not treated as a typo", () => {
  const hint = "Its inputs: topic, Child's\\u000aAge.";
  const long = "topic".repeat(200_000);
  expect(describeUnknownNames(known, { inputs: [long], options: [] })).toEqual([
    `The prompt has no input "${"topic".repeat(8)}…". ${hint}`,
  ]);
  const longest = "n".repeat(INPUT_NAME_LENGTH_MAX);
  const withLongest: KnownNames = { textInputs: { [longest]: {} }, runOptions: {} };
  const hintOf = (name: string) =>
    describeUnknownNames(withLongest, { inputs: [name], options: [] })[0]?.split('". ')[1];
  expect(hintOf(longest.slice(1))).toBe(`Did you mean "${longest}"?`);
  expect(hintOf(`${longest}n`)).toBe(`Its inputs: ${longest}.`);
});

test("at most twenty unknown names are reported", () => {
  const inputs = Array.from({ length: 50 }, (_, i) => `no ${i}`);
  const said = describeUnknownNames(known, { inputs: ["topic", ...inputs], options: [] });
  expect(said).toHaveLength(20);
  expect(said[19]).toContain('"no 19"');
});
