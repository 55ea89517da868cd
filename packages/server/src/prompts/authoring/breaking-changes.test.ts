import { describe, expect, test } from "vitest";
import { catalogue, parseOne, PENCIL_PORTRAIT, TEA_POEM, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";
import { findBreakingChanges } from "./breaking-changes.ts";

const conflicts = (before: string, after: string) =>
  findBreakingChanges(parseOne(before), parseOne(after), catalogue).map(({ kind, name }) => `${kind} ${name}`.trim());
const withInputs = (inputs: string, body = "About {{ a }}.") => textPrompt(body, `inputs: ${inputs}`);

describe("inputs that fitted before", () => {
  test.each<[string, string, string, string[]]>([
    ["still fit when nothing changed", "{ a: {} }", "{ a: {} }", []],
    ["still fit where a default came", "{ a: {} }", "{ a: { default: x } }", []],
    ["still fit where bounds widened", "{ a: { maxLength: 5 } }", "{ a: { maxLength: 9 } }", []],
    ["are too long for a lower bound", "{ a: { maxLength: 9 } }", "{ a: { maxLength: 5 } }", ["value_refused a"]],
    ["are too long where there was no bound", "{ a: {} }", "{ a: { maxLength: 5 } }", ["value_refused a"]],
    ["are missing where a default went", "{ a: { default: x } }", "{ a: {} }", ["input_required a"]],
    ["may be no number", "{ a: {} }", "{ a: { type: number } }", ["value_refused a"]],
    ["are texts of any type", "{ a: { type: number } }", "{ a: {} }", []],
    ["miss a choice that went", "{ a: { options: [x, y] } }", "{ a: { options: [x, z] } }", ["value_refused a"]],
    ["have one choice more", "{ a: { options: [x, y] } }", "{ a: { options: [x, y, z] } }", []],
    ["are too small", "{ a: { type: number, min: 1 } }", "{ a: { type: number, min: 2 } }", ["value_refused a"]],
    [
      "are too many choices",
      "{ a: { options: [x, y, z], multiple: { min: 1, max: 3 } } }",
      "{ a: { options: [x, y, z], multiple: { min: 1, max: 2 } } }",
      ["value_refused a"],
    ],
    ["must not be empty any more", "{ a: { allowEmpty: true } }", "{ a: { allowEmpty: false } }", ["value_refused a"]],
  ])("%s", (_name, before, after, found) => {
    expect(conflicts(withInputs(before), withInputs(after))).toEqual(found);
  });

  test("lack a new input that is required, and have no effect where theirs is gone", () => {
    const before = withInputs("{ a: {} }");
    const after = withInputs("{ b: {} }", "About {{ b }}.");
    expect(conflicts(before, after)).toEqual(["input_required b", "input_unknown a"]);
    expect(conflicts(before, withInputs("{ a: {}, b: { default: x } }", "{{ a }} {{ b }}"))).toEqual([]);
  });
});

describe("images and options that fitted before", () => {
  test("are as many as before, or no run can be made", () => {
    const after = PENCIL_PORTRAIT.replace("One well-lit face }]", "One well-lit face }, { label: Pose }]");
    expect(conflicts(PENCIL_PORTRAIT, after)).toEqual(["images"]);
  });

  test("are refused by a model without them", () => {
    const after = TEA_POEM.replace("model: sandbox/text", "model: sandbox/text-free");
    const found = findBreakingChanges(parseOne(TEA_POEM), parseOne(after), catalogue);
    const known = Object.keys(catalogue.find("sandbox/text")?.runOptions ?? {});
    const left = Object.keys(catalogue.find("sandbox/text-free")?.runOptions ?? {});
    expect(found.map(({ name }) => name)).toEqual(known.filter((name) => !left.includes(name)));
    expect(known.length).toBeGreaterThan(0);
  });
});
