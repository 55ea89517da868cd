import { describe, expect, test } from "vitest";
import { catalogue, parseOne, PENCIL_PORTRAIT, TEA_POEM, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";
import { findBreakingChanges } from "./breaking-changes.ts";

const conflicts = (before: string, after: string) =>
  findBreakingChanges(parseOne(before), parseOne(after), catalogue).map(({ kind, name }) => `${kind} ${name}`.trim());
const withInputs = (inputs: string, body = "About {{ a }}.") => textPrompt(body, `inputs: ${inputs}`);

describe("inputs that were valid before", () => {
  test.each<[string, string, string, string[]]>([
    ["are valid when nothing changed", "{ a: {} }", "{ a: {} }", []],
    ["are valid after a default was added", "{ a: {} }", "{ a: { default: x } }", []],
    ["are valid after limits were raised", "{ a: { maxLength: 5 } }", "{ a: { maxLength: 9 } }", []],
    ["are too long for a lower limit", "{ a: { maxLength: 9 } }", "{ a: { maxLength: 5 } }", ["value_refused a"]],
    ["are too long where there was no limit", "{ a: {} }", "{ a: { maxLength: 5 } }", ["value_refused a"]],
    ["are missing after a default was removed", "{ a: { default: x } }", "{ a: {} }", ["input_required a"]],
    ["may not be numbers", "{ a: {} }", "{ a: { type: number } }", ["value_refused a"]],
    ["are valid as text, whatever their type was", "{ a: { type: number } }", "{ a: {} }", []],
    ["lack a choice that was removed", "{ a: { options: [x, y] } }", "{ a: { options: [x, z] } }", ["value_refused a"]],
    ["are valid after a choice was added", "{ a: { options: [x, y] } }", "{ a: { options: [x, y, z] } }", []],
    ["are too small", "{ a: { type: number, min: 1 } }", "{ a: { type: number, min: 2 } }", ["value_refused a"]],
    [
      "are too many choices",
      "{ a: { options: [x, y, z], multiple: { min: 1, max: 3 } } }",
      "{ a: { options: [x, y, z], multiple: { min: 1, max: 2 } } }",
      ["value_refused a"],
    ],
    ["may no longer be empty", "{ a: { allowEmpty: true } }", "{ a: { allowEmpty: false } }", ["value_refused a"]],
  ])("%s", (_name, before, after, found) => {
    expect(conflicts(withInputs(before), withInputs(after))).toEqual(found);
  });

  test("lack a new required input, and are ignored if their own input was removed", () => {
    const before = withInputs("{ a: {} }");
    const after = withInputs("{ b: {} }", "About {{ b }}.");
    expect(conflicts(before, after)).toEqual(["input_required b", "input_unknown a"]);
    expect(conflicts(before, withInputs("{ a: {}, b: { default: x } }", "{{ a }} {{ b }}"))).toEqual([]);
  });
});

describe("images and options that were valid before", () => {
  test("must be as many as the prompt now needs", () => {
    const after = PENCIL_PORTRAIT.replace("One well-lit face }]", "One well-lit face }, { label: Pose }]");
    expect(conflicts(PENCIL_PORTRAIT, after)).toEqual(["images"]);
  });

  test("are rejected by a model that does not have them", () => {
    const after = TEA_POEM.replace("model: sandbox/text", "model: sandbox/text-free");
    const found = findBreakingChanges(parseOne(TEA_POEM), parseOne(after), catalogue);
    const known = Object.keys(catalogue.find("sandbox/text")?.runOptions ?? {});
    const left = Object.keys(catalogue.find("sandbox/text-free")?.runOptions ?? {});
    expect(found.map(({ name }) => name)).toEqual(known.filter((name) => !left.includes(name)));
    expect(known.length).toBeGreaterThan(0);
  });
});
