import { expect, test } from "vitest";
import { faultsOf, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";
import { PromptFileError } from "../prompt-fault.ts";

const messagesOf = (text: string) => faultsOf(text).map(({ field, message }) => `${field}: ${message}`);

test.each([
  ["a title of invisible characters", 'title: "\\u200B\\u200B"', /^title: must contain a visible character$/],
  [
    "a label of invisible characters",
    'inputs: { a: { label: "\\u200B" } }',
    /^inputs\.a\.label: must contain a visible character/,
  ],
  ["a hidden character in a key", 'inputs: { "to\\u200Bpic": {} }', /not contain the invisible character U\+200B$/m],
  ["a text direction mark in a key", 'inputs: { "a\\u202Eb": {} }', /not contain the invisible character U\+202E$/m],
  ["inputs as a list", "inputs: [a]", /^inputs: must be a map such as { topic: {} }, got a list$/],
  [
    "a range without a number",
    "inputs: { a: { type: number, min: 5, max: 1 } }",
    /min \(5\) is greater than max \(1\)/,
  ],
])("%s is a fault with an explanation", (_name, fields, message) => {
  const text = textPrompt("{{ a }}", fields);
  const written = fields.startsWith("title") ? text.replace(/^title: (?!").*\n/m, "") : text;
  expect(messagesOf(written).join("\n")).toMatch(message);
});

test("joiners are valid in a key", () => {
  expect(faultsOf(textPrompt('{{ input["می‌خواهم"] }}', 'inputs: { "می‌خواهم": {} }'))).toEqual([]);
});

test("front matter with thousands of brackets is one fault about nesting", () => {
  const [fault, ...others] = faultsOf(textPrompt("x", `x-a: ${"[".repeat(5_000)}${"]".repeat(5_000)}`));
  expect(fault).toMatchObject({ code: "LIMITS", message: "maps and lists are nested too deep" });
  expect(others).toEqual([]);
});

test("prompts that are not a list are one fault", () => {
  expect(messagesOf('{"promptd":1,"prompts":{}}')).toEqual(["prompts: must be a list, got a map"]);
});

test("a JSON list of prompts is one fault that shows the object to put it in", () => {
  expect(messagesOf('[{"title":"Tea"}]')).toEqual([
    'file: is a JSON list; a JSON file is an object with the list as a member: {"promptd": 1, "prompts": [...]}',
  ]);
});

test("the quoted piece of text is a sentence of its own", () => {
  const of = (message: string) =>
    new PromptFileError([{ line: 7, field: "template", code: "STEP_ORDER", message, excerpt: "{{ a }}" }]).message;
  expect(of("it does not run before")).toBe("line 7, template: it does not run before. Here: {{ a }} [STEP_ORDER]");
  expect(of("A sentence.")).toBe("line 7, template: A sentence. Here: {{ a }} [STEP_ORDER]");
});
