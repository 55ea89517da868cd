import { describe, expect, test } from "vitest";
import { catalogue, parseOne, PENCIL_PORTRAIT, STORY_COVER, TEA_POEM } from "../../../test/prompts/prompt-fixtures.ts";
import { runAtOnce } from "../../platform/time-slice.ts";
import { diffLines, newDiffBudget } from "./diff-lines.ts";
import { diffPrompts } from "./diff-prompts.ts";

const signs = { same: " ", removed: "-", added: "+" } as const;
const shown = (before: string, after: string) =>
  runAtOnce(diffLines(before, after, newDiffBudget())).map(({ kind, text }) => `${signs[kind]}${text}`);

describe("lines", () => {
  test.each<[string, string, string, string[]]>([
    ["one changed in the middle", "a\nb\nc", "a\nx\nc", [" a", "-b", "+x", " c"]],
    ["one added", "a\nc", "a\nb\nc", [" a", "+b", " c"]],
    ["one removed at the end", "a\nb", "a", [" a", "-b"]],
    ["nothing before", "", "a", ["-", "+a"]],
    ["two moved", "a\nb\nc", "c\na\nb", ["+c", " a", " b", "-c"]],
    ["nothing", "a\na", "a\na", [" a", " a"]],
  ])("%s", (_name, before, after, lines) => {
    expect(shown(before, after)).toEqual(lines);
  });

  test("texts that are too long to compare count as replaced", () => {
    const many = (letter: string) => Array.from({ length: 2_500 }, (_, at) => `${letter}${at}`).join("\n");
    expect(runAtOnce(diffLines(many("a"), many("b"), newDiffBudget()))).toHaveLength(5_000);
  });

  test("texts of a prompt that are too long together count as replaced from the first for which nothing is left", () => {
    const budget = { cellsLeft: 4 };
    const lines = () => runAtOnce(diffLines("a\nb", "b\nc", budget)).map(({ kind }) => kind);
    expect(lines()).toEqual(["removed", "same", "added"]);
    expect(lines()).toEqual(["removed", "removed", "added", "added"]);
  });
});

const diff = (before: string, after: string) => diffPrompts(parseOne(before), parseOne(after), catalogue);

describe("two versions of a prompt", () => {
  test("with the same content do not differ, however they are written", () => {
    const other = TEA_POEM.replace("title: Tea poem", "x-note: mine\ntitle:   'Tea poem'").replace(
      "\n---\nW",
      "\n---\n\nW",
    );
    expect(diff(TEA_POEM, other)).toMatchObject({ isSame: true, fields: [], inputs: [], options: [], texts: [] });
  });

  test("differ in the template, line by line", () => {
    const { texts, isSame } = diff(TEA_POEM, TEA_POEM.replace("two-line", "three-line"));
    expect(isSame).toBe(false);
    expect(texts).toEqual([
      {
        field: "steps.main.template",
        lines: [
          { kind: "removed", text: "Write a two-line poem about {{ topic }}, {{ tone }}." },
          { kind: "added", text: "Write a three-line poem about {{ topic }}, {{ tone }}." },
        ],
      },
    ]);
  });

  test("differ in added, removed, and changed inputs", () => {
    const after = TEA_POEM.replace('{ default: "7" }', '{ default: "8" }')
      .replace("tone: {", "mood: {")
      .replace("{{ tone }}", "{{ mood }}");
    const { inputs } = diff(TEA_POEM, after);
    expect(inputs).toContainEqual({ field: "inputs.Child's Age.default", before: "7", after: "8" });
    expect(inputs).toContainEqual({ field: "inputs.tone.default", before: "calm", after: null });
    expect(inputs).toContainEqual({ field: "inputs.mood.default", before: null, after: "calm" });
    expect(inputs).toContainEqual({
      field: "inputs.order",
      before: "topic, Child's Age, tone",
      after: "topic, Child's Age, mood",
    });
  });

  test("differ in options and in the price of a run", () => {
    const { options, price } = diff(PENCIL_PORTRAIT, PENCIL_PORTRAIT.replace("quality: high", "quality: low"));
    expect(options).toEqual([{ field: "steps.main.options.quality", before: "high", after: "low" }]);
    expect(price).toEqual({ before: { typical: 8, most: 8 }, after: { typical: 2, most: 2 } });
  });

  test("differ in a role that means the same model", () => {
    const model = catalogue.bind("text-default", { images: 0 })?.model ?? "";
    const named = TEA_POEM.replace("sandbox/text", model);
    const { fields, isSame } = diff(named, TEA_POEM.replace("sandbox/text", "text-default"));
    expect(isSame).toBe(false);
    expect(fields).toEqual([
      { field: "steps.main.role", before: null, after: expect.objectContaining({ name: "text-default" }) },
    ]);
  });

  test("differ in their sample", () => {
    const withSample = (topic: string, output: string) =>
      TEA_POEM.replace(
        "instructions:",
        `samples: [{ inputs: { topic: ${topic} }, outputs: [${output}] }]\ninstructions:`,
      );
    expect(diff(withSample("rain", "A"), withSample("snow", "A")).fields).toEqual([
      { field: "samples.textInputs", before: { topic: "rain" }, after: { topic: "snow" } },
    ]);
    expect(diff(withSample("rain", "A"), withSample("rain", "B")).fields).toEqual([
      { field: "samples.outputs", before: [{ type: "text", data: "A" }], after: [{ type: "text", data: "B" }] },
    ]);
  });

  test("differ in steps, title, and model", () => {
    const after = STORY_COVER.replace("title: Story cover", "title: Cover").replace(
      "maxOutputTokens: 300",
      "maxOutputTokens: 200",
    );
    expect(diff(STORY_COVER, after).fields).toEqual([
      { field: "title", before: "Story cover", after: "Cover" },
      { field: "steps.draft.maxOutputTokens", before: 300, after: 200 },
    ]);
    expect(diff(STORY_COVER, TEA_POEM).fields).toContainEqual({
      field: "steps",
      before: "draft, cover",
      after: "main",
    });
  });
});
