import type { CreateRunBody } from "@promptd/contract";
import { describe, expect, test } from "vitest";
import { invalid } from "../../platform/problem.ts";
import { checkInputs } from "./check-inputs.ts";
import {
  catalogue,
  liveVersion,
  PENCIL_PORTRAIT,
  STORY_COVER,
  TEA_POEM,
  textPrompt,
} from "../../../test/prompts/prompt-fixtures.ts";

const IMAGE = { type: "url", url: "https://images.example.org/cat.png" } as const;

interface Given {
  readonly text?: Record<string, string>;
  readonly images?: number;
  readonly options?: Record<string, string>;
}

function check(file: string, { text = {}, images = 0, options = {} }: Given = {}) {
  const body: CreateRunBody = {
    promptVersionId: "01a19b45-b800-7a3e-8b1d-0c6f5e2a9b77",
    inputs: { textInputs: text, imageInputs: Array.from({ length: images }, () => IMAGE) },
    runOptions: options,
  };
  return checkInputs(liveVersion(file), body, catalogue);
}

describe("the combinations of required, default, and allowEmpty", () => {
  const REQUIRED = "required" as const;
  test.each([
    ["no default", "{}", undefined, REQUIRED],
    ["no default", "{}", "", REQUIRED],
    ["no default", "{}", " \n\t", REQUIRED],
    ["no default", "{}", " x ", { value: " x " }],
    ["no default, allowEmpty", "{ allowEmpty: true }", undefined, REQUIRED],
    ["no default, allowEmpty", "{ allowEmpty: true }", "", { value: "" }],
    ["no default, allowEmpty", "{ allowEmpty: true }", "  ", { value: "  " }],
    ["no default, allowEmpty", "{ allowEmpty: true }", "x", { value: "x" }],
    ["default d", "{ default: d }", undefined, { value: "d" }],
    ["default d", "{ default: d }", "", { value: "d" }],
    ["default d", "{ default: d }", "  ", { value: "d" }],
    ["default d", "{ default: d }", "x", { value: "x" }],
    ["default d, allowEmpty", "{ default: d, allowEmpty: true }", undefined, { value: "d" }],
    ["default d, allowEmpty", "{ default: d, allowEmpty: true }", "", { value: "" }],
    ["default d, allowEmpty", "{ default: d, allowEmpty: true }", "x", { value: "x" }],
    ["an empty default", "{ default: '' }", undefined, { value: "" }],
    ["a select without default", "{ options: [a, b] }", undefined, REQUIRED],
    ["a select with default", "{ options: [a, b], default: b }", "", { value: "b" }],
    ["a select with allowEmpty", "{ options: [a, b], allowEmpty: true }", "", { value: "" }],
  ])("%s: %s given %j", (_name, field, given, expected) => {
    const { issues, textInputs } = check(textPrompt("{{ a }}", `inputs: { a: ${field} }`), {
      text: given === undefined ? {} : { a: given },
    });
    const outcome = issues.length > 0 ? issues.map((issue) => issue.code).join() : { value: textInputs["a"] };
    expect(outcome).toEqual(expected);
  });
});

describe("messages", () => {
  test("a single missing input is named", () => {
    const { issues } = check(TEA_POEM);
    expect(issues).toEqual([
      { path: ["body", "inputs", "textInputs", "topic"], code: "required", message: 'Text input "topic" is required.' },
    ]);
  });

  test("the issue for a blank required input says that blank text counts as missing", () => {
    const [issue] = check(TEA_POEM, { text: { topic: " " } }).issues;
    expect(issue?.message).toBe('Text input "topic" is required. Blank text counts as missing.');
  });

  test("a missing input that was misspelled is suggested", () => {
    const given = { text: { Topc: "frost", "a key of another prompt": "x" } };
    expect(invalid(check(TEA_POEM, given).issues).message).toBe(
      'Text input "topic" is required. The prompt has no input "Topc". Did you mean "topic"? The prompt has no input "a key of another prompt". Its inputs: topic, Child\'s Age, tone.',
    );
  });

  test("each issue for a missing input names up to three names that may be misspelled", () => {
    const text = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`unknown${at}`, "x"]));
    const { issues, ignored } = check(textPrompt("{{ a }}{{ b }}"), { text });
    expect(issues.map(({ message }) => message.match(/The prompt has no input/g)?.length)).toEqual([3, 3]);
    expect(ignored).toHaveLength(30);
  });

  test("several missing inputs have one issue each, with one common sentence", () => {
    const { issues } = check(textPrompt("{{ a }}{{ b }}{{ input['c d'] }}"));
    expect(issues.map((issue) => issue.path.at(-1))).toEqual(["a", "b", "c d"]);
    expect(invalid(issues).message).toBe('Text inputs "a", "b", and "c d" are required.');
    expect(invalid(check(textPrompt("{{ topic }}{{ tone }}")).issues).message).toBe(
      'Text inputs "topic" and "tone" are required.',
    );
  });

  test("problems with texts, images, and options are reported together", () => {
    const file = textPrompt("{{ tone }}", "inputs: { tone: { options: [Formal, Casual] } }");
    const { issues } = check(file, { text: { tone: "formal" }, images: 1, options: { quality: "high" } });
    expect(issues).toEqual([
      {
        path: ["body", "inputs", "textInputs", "tone"],
        code: "invalid_value",
        message: 'Text input "tone" must be one of: Formal, Casual. Got "formal".',
      },
      {
        path: ["body", "inputs", "imageInputs"],
        code: "image_count",
        message: "This prompt expects 0 images, but 1 was given.",
      },
      {
        path: ["body", "runOptions", "quality"],
        code: "unsupported_option",
        message: '"quality" is not a run option of the model sandbox/text. Accepted: reasoningEffort.',
      },
    ]);
  });

  test("the number of images must be exact", () => {
    expect(check(PENCIL_PORTRAIT, { images: 1 }).issues).toEqual([]);
    expect(check(PENCIL_PORTRAIT, { images: 0 }).issues.map((issue) => issue.message)).toEqual([
      "This prompt expects 1 image, but 0 were given.",
    ]);
    expect(check(PENCIL_PORTRAIT, { images: 2 }).issues.map((issue) => issue.message)).toEqual([
      "This prompt expects 1 image, but 2 were given.",
    ]);
  });

  test("the issue for an unknown run option value lists the accepted values", () => {
    const { issues } = check(TEA_POEM, { text: { topic: "x" }, options: { reasoningEffort: "ultra" } });
    expect(issues).toEqual([
      {
        path: ["body", "runOptions", "reasoningEffort"],
        code: "unsupported_option_value",
        message: '"ultra" is not a valid value for reasoningEffort. Accepted: low, medium, high.',
      },
    ]);
  });

  test("a model without run options accepts no option, not even the name of an inherited property", () => {
    const file = textPrompt("x").replace("sandbox/text", "sandbox/text-free");
    const { issues } = check(file, { options: { constructor: "x" } });
    expect(issues.map((issue) => issue.message)).toEqual([
      '"constructor" is not a run option of the model sandbox/text-free. This model has no run options.',
    ]);
  });

  test("a long or unprintable value is quoted in short, escaped form", () => {
    const file = textPrompt("{{ a }}", "inputs: { a: { options: [x] } }");
    expect(check(file, { text: { a: "\u001b[2J" } }).issues[0]?.message).toContain('Got "\\u001b[2J".');
    expect(check(file, { text: { a: "y".repeat(500) } }).issues[0]?.message.length).toBeLessThan(120);
  });
});

describe("values", () => {
  test("maxLength counts code points, not UTF-16 units", () => {
    const file = textPrompt("{{ a }}", "inputs: { a: { maxLength: 3 } }");
    expect(check(file, { text: { a: "😀😀😀" } }).issues).toEqual([]);
    expect(check(file, { text: { a: "😀😀😀!" } }).issues).toMatchObject([
      { code: "too_long", message: 'Text input "a" is 4 characters long; the limit is 3.' },
    ]);
  });

  test.each([
    ["a", true],
    ["a, b", true],
    [" b ,a ", true],
    ["a,b,c", false],
    ["a,a", false],
    ["a,d", false],
    ["a,", false],
  ])("whether a multiple select of 1 to 2 names accepts %j: %s", (given, isLegal) => {
    const file = textPrompt("{{ x }}", "inputs: { x: { options: [a, b, c], multiple: { min: 1, max: 2 } } }");
    const { issues } = check(file, { text: { x: given } });
    const message = `Text input "x" must list 1 to 2 of: a, b, c, without repeats, separated by commas. Got "${given}".`;
    expect(issues.map((issue) => issue.message)).toEqual(isLegal ? [] : [message]);
  });

  test("a key is found in either Unicode form, and given in both it is a conflict", () => {
    const file = textPrompt("{{ café }}");
    const decomposed = "café".normalize("NFD");
    expect(check(file, { text: { [decomposed]: "x" } })).toMatchObject({ issues: [], textInputs: { café: "x" } });
    expect(check(file, { text: { café: "x", [decomposed]: "y" } }).issues.map((issue) => issue.code)).toEqual([
      "conflict",
    ]);
  });

  test("values are kept as given, without normalization", () => {
    const value = "  é ".normalize("NFD");
    expect(check(TEA_POEM, { text: { topic: value } }).textInputs["topic"]).toBe(value);
  });

  test("keys that the prompt does not know have no effect and are reported", () => {
    const { issues, textInputs, ignored } = check(TEA_POEM, { text: { topic: "x", topc: "y", __proto: "z" } });
    expect([issues, ignored]).toEqual([[], ["textInputs.topc", "textInputs.__proto"]]);
    expect(Object.keys(textInputs)).toEqual(["topic", "Child's Age", "tone"]);
  });

  test("inherited members of the request are not inputs", () => {
    const text = Object.create({ topic: "inherited" }) as Record<string, string>;
    expect(check(TEA_POEM, { text }).issues.map((issue) => issue.code)).toEqual(["required"]);
  });
});

describe("run options", () => {
  test("options come from the caller, then from the author, then from the catalogue", () => {
    expect(check(PENCIL_PORTRAIT, { images: 1 }).options).toEqual({ quality: "high", size: "512x512" });
    expect(check(PENCIL_PORTRAIT, { images: 1, options: { quality: "low" } }).options["quality"]).toBe("low");
  });

  test("the defaults of a prompt with steps come from its last step", () => {
    const { options } = check(STORY_COVER, { text: { hero: "Bo" } });
    expect(options).toEqual({ quality: "medium", size: "1024x1024" });
    expect(liveVersion(STORY_COVER).config.runOptions["size"]?.default).toBe("1024x1024");
  });
});
