import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  catalogue,
  PENCIL_PORTRAIT,
  STORY_COVER,
  TEA_POEM,
  textPrompt,
} from "../../../test/prompts/prompt-fixtures.ts";
import { parsePromptFile } from "../checks/parse-prompt-file.ts";
import { addSample, textOfPrompt, writePromptFile } from "./write-prompt-file.ts";

const SEED = join(import.meta.dirname, "../../../seed");
const ID = "1fda4caa-0ede-5aa4-b0ad-a38961c84766";

/** What publishing stores. */
function contentsOf(text: string) {
  return parsePromptFile(text, catalogue).map(({ title, slug, description, tags, model, definition, samples }) =>
    JSON.parse(JSON.stringify({ title, slug, description, tags, model, definition, samples })),
  );
}

/** What publishing stores, before and after each prompt is written and read again. */
function readTwice(text: string) {
  const first = contentsOf(text);
  const again = first.flatMap((content) => contentsOf(writePromptFile(textOfPrompt({ ...content, promptId: ID }))));
  return { first, again };
}

describe("a stored prompt that is written as a file publishes the same content again", () => {
  test.each([
    ["the tea poem", TEA_POEM],
    ["the pencil portrait", PENCIL_PORTRAIT],
    ["the story with its cover", STORY_COVER],
    [
      "texts that look like other YAML",
      textPrompt("---\n# {{ a }}\n", 'inputs: { a: { default: "7", description: "yes: no # x" } }'),
    ],
    ["keys that look like numbers", textPrompt("{{ b }}{{ input['2'] }}", 'inputs: { b: {}, "2": {} }')],
    ["instructions on several lines", textPrompt("x", "instructions: |\n  One.\n\n  Two: {{ a }}.")],
    ["web search", textPrompt("x", "webSearch: true")],
    ["web search with sources", textPrompt("x", "webSearch: { sources: true }")],
    ["a sample", textPrompt("{{ a }}", 'samples: [{ inputs: { a: "1" }, outputs: ["One."] }]')],
  ])("%s", (_name, text) => {
    const { first, again } = readTwice(text);
    expect(again).toEqual(first);
  });

  test("every seed file, and the seed catalogue", () => {
    const files = globSync("prompts/*.prompt.md", { cwd: SEED });
    expect(files.length).toBeGreaterThan(50);
    for (const file of [...files, "catalogue.json"]) {
      const { first, again } = readTwice(readFileSync(join(SEED, file), "utf8"));
      expect(again).toEqual(first);
    }
  });
});

describe("a sample made from a run", () => {
  const sample = { textInputs: { topic: "rain", "Child's Age": "7" }, outputs: ["Two lines:\n---\nthe end"] };

  test("is added at the end of the fields, and the rest stays unchanged", () => {
    const text = addSample(TEA_POEM, sample) ?? "";
    expect(text.replace(/^samples:[\s\S]*?(?=^---$)/m, "")).toBe(TEA_POEM);
    const [{ samples } = { samples: null }] = parsePromptFile(text, catalogue);
    expect(samples?.inputs.textInputs).toEqual(sample.textInputs);
    expect(samples?.outputs).toEqual([{ type: "text", data: sample.outputs[0] }]);
  });

  test("is not added to a file that has samples, or to another form of file", () => {
    const text = addSample(TEA_POEM, sample) ?? "";
    expect(addSample(text, sample)).toBeNull();
    expect(addSample('{"promptd":1,"prompts":[]}', sample)).toBeNull();
  });
});

test("comments are written above the fields", () => {
  const text = writePromptFile({ comments: ["One.", "Two\nlines."], fields: { title: "T" }, body: "x" });
  expect(text).toBe("---\n# One.\n# Two\n# lines.\npromptd: 1\ntitle: T\n---\nx\n");
});
