import { Composer } from "yaml";
import { expect, test, vi } from "vitest";
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

const yamlFile = (fields: string) => `promptd: 1\ntitle: A test\nmodel: sandbox/text\n${fields}`;

test.each([
  ["a long list on one line", `x-a: [${"a,".repeat(500_000)}]`],
  ["hundreds of thousands of mistakes", "[\n".repeat(500_000)],
  ["hundreds of thousands of empty lines", "\n".repeat(1_000_000)],
])("YAML with %s is one fault about its size, and is not parsed", (_name, fields) => {
  const parse = vi.spyOn(Composer.prototype, "compose");
  const [fault, ...others] = faultsOf(yamlFile(fields));
  expect(fault).toMatchObject({ code: "LIMITS", field: "front matter" });
  expect(fault?.message).toMatch(/^has more than 30,000 keys, values, punctuation marks,/);
  expect(others).toEqual([]);
  expect(parse).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

test("a YAML file of almost a mebibyte of text is valid, and so is dense front matter of almost 64 KiB", () => {
  const message = (role: string) => `  - ${role}: |\n${"      A line of this long text.\n".repeat(3_000)}`;
  const messages = Array.from({ length: 5 }, () => message("user") + message("assistant")).join("");
  const long = yamlFile(`messages:\n${messages}template: Go on.\n`);
  expect(long.length).toBeGreaterThan(900_000);
  expect(faultsOf(long)).toEqual([]);
  expect(faultsOf(textPrompt("x", `x-a: [${"ab cd e, ".repeat(7_000)}]`))).toEqual([]);
});

test("the parser makes no stacks for the mistakes of a file, and other errors have theirs", () => {
  const stacks = Error.stackTraceLimit;
  let during: number | null = null;
  const parse = vi.spyOn(Composer.prototype, "end").mockImplementation(() => {
    during = Error.stackTraceLimit;
    throw new RangeError("too deep");
  });
  expect(faultsOf(yamlFile("]\n"))).toHaveLength(1);
  expect([during, Error.stackTraceLimit]).toEqual([0, stacks]);
  parse.mockRestore();
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
