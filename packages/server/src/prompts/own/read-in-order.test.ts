import { expect, test } from "vitest";
import type { SlicedWork } from "../../platform/time-slice.ts";
import { catalogue } from "../../../test/prompts/prompt-fixtures.ts";
import { validateInSlices } from "../authoring/validate-prompts.ts";
import { readInOrder } from "./read-in-order.ts";

test("files are read one after another, and accounts take turns", async () => {
  const steps: string[] = [];
  let reading = 0;
  const read = function* (account: string): SlicedWork<void> {
    reading += 1;
    expect(reading).toBe(1);
    steps.push(account);
    yield;
    reading -= 1;
  };
  const accounts = ["a", "a", "a", "a", "b", "b"];
  await Promise.all(accounts.map((account) => readInOrder(account, () => read(account))));
  expect(steps).toEqual(["a", "a", "b", "a", "b", "a"]);
});

/** The longest request to check a prompt file is a mebibyte. */
const LENGTH = 1_000_000;
const fill = (piece: string, length: number) => piece.repeat(Math.floor(length / piece.length));
const head = "---\npromptd: 1\ntitle: T\nmodel: sandbox/text\n---\n";
const steps = (piece: string) =>
  head + Array.from({ length: 10 }, (_, at) => `<!-- step: s${at} -->\n${fill(piece, 99_000)}\n`).join("");
const prompts = (template: string, more: object = {}) => {
  const prompt = { title: "T", model: "sandbox/text", template, ...more };
  const count = Math.min(5_000, Math.floor(LENGTH / JSON.stringify(prompt).length));
  return JSON.stringify({ promptd: 1, prompts: Array.from({ length: count }, () => prompt) });
};
const keys = Array.from({ length: 60 }, (_, at) => `key${at}`);

test.each([
  ["conditions", steps("{% if a == b %}x{% endif %}")],
  ["sections of Mustache", steps("{{#a}}x{{/a}}")],
  ["placeholders of shells", steps("${a}")],
  ["tokens that begin other template languages", steps("<")],
  ["outputs of unknown form", steps("{{ a or b }}")],
  ["prompts with outputs", prompts("{{ a }} and {{ b }}".repeat(10))],
  ["prompts with inputs", prompts("x", { inputs: Object.fromEntries(keys.map((key) => [key, {}])) })],
  ["members", `{"promptd":1,"x":[${fill('{"a":1},', LENGTH)}1],"prompts":[]}`],
  ["line breaks", head + fill("\r", LENGTH)],
])("a file full of %s is read in many parts, between which other work runs", (_, text) => {
  const work = validateInSlices(text, catalogue, {});
  let parts = 1;
  while (work.next().done !== true) parts += 1;
  expect(parts).toBeGreaterThan(500);
});

test("a file with a fault in every line reports the first thousands, and is not read to its end", async () => {
  const text = JSON.stringify({ promptd: 1, prompts: Array.from({ length: 5_000 }, () => ({ title: "T" })) });
  const { faults, message } = await readInOrder("a", () => validateInSlices(text, catalogue, {}));
  expect(faults.length).toBeGreaterThanOrEqual(5_000);
  expect(faults.length).toBeLessThan(5_100);
  expect(message).toMatch(/^and [\d,]+ more$/m);
});
