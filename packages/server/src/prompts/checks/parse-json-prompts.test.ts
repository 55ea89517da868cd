import { describe, expect, test, vi } from "vitest";
import { catalogue, codesOf, faultsOf } from "../../../test/prompts/prompt-fixtures.ts";
import { runAtOnce } from "../../platform/time-slice.ts";
import { parsePromptFile, readPrompts } from "./parse-prompt-file.ts";
import { PromptFileError } from "../prompt-fault.ts";
import { engine } from "../template/template-language.ts";

const json = (prompts: unknown[]) => JSON.stringify({ promptd: 1, prompts }, null, 1);
const one = { title: "One", model: "sandbox/text", template: "Say {{ a }}." };

function errorOf(file: string): PromptFileError | null {
  try {
    parsePromptFile(file, catalogue);
    return null;
  } catch (error) {
    if (error instanceof PromptFileError) return error;
    throw error;
  }
}

describe("the JSON import form", () => {
  test("prompts are read in order, with the fields of a prompt file", () => {
    const sources = parsePromptFile(
      json([
        { ...one, id: "1FDA4CAA-0ede-5aa4-b0ad-a38961c84766", inputs: { a: { default: "x" } }, "x-source": 1 },
        {
          title: "Two",
          model: "sandbox/image",
          steps: [
            { id: "a", model: "sandbox/text", template: "t" },
            { id: "b", template: "{{ steps.a }}" },
          ],
        },
      ]),
      catalogue,
    );
    expect(sources.map(({ promptId, slug, line }) => [promptId, slug, line])).toEqual([
      ["1fda4caa-0ede-5aa4-b0ad-a38961c84766", "one", 4],
      [null, "two", 16],
    ]);
    expect(sources[1]?.definition.steps.map((step) => step.reads)).toEqual([[], ["a"]]);
  });

  test("inputs keep the order of the file, even with integer-like keys", () => {
    const text = `{"promptd":1,"prompts":[{"title":"T","model":"sandbox/text","template":"{{b}}{{input['2']}}","inputs":{"b":{},"2":{}}}]}`;
    expect(parsePromptFile(text, catalogue)[0]?.definition.inputs.map((input) => input.key)).toEqual(["b", "2"]);
  });

  test("two prompts with the same title stay two prompts", () => {
    expect(
      parsePromptFile(json([one, one, { ...one, slug: "one-2" }]), catalogue).map((source) => source.slug),
    ).toEqual(["one", "one-3", "one-2"]);
  });

  test.each([
    ["text that is not JSON", '{"promptd": 1,\n "prompts": [}', "file", 2],
    ["a duplicate key", '{"promptd":1,"promptd":1,"prompts":[]}', "promptd", 1],
    ["no list of prompts", '{"promptd":1}', "prompts", 1],
    ["another version", '{"promptd":2,"prompts":[]}', "promptd", 1],
    ["a prompt that is not an object", '{"promptd":1,"prompts":[7]}', "prompts[1]", 1],
    [
      "a duplicate id",
      json([
        { ...one, id: "1fda4caa-0ede-5aa4-b0ad-a38961c84766" },
        { ...one, id: "1fda4caa-0ede-5aa4-b0ad-a38961c84766" },
      ]),
      "prompts[2].id",
      14,
    ],
    [
      "a duplicate slug",
      json([
        { ...one, slug: "a" },
        { ...one, slug: "a" },
      ]),
      "prompts[2].slug",
      14,
    ],
    ["a front matter field that only files have", json([{ ...one, promptd: 1 }]), "prompts[1].promptd", 8],
  ])("%s is a fault with its location", (_name, text, field, line) => {
    expect(faultsOf(text).map((fault) => [fault.field, fault.line])).toContainEqual([field, line]);
  });

  test("deep nesting is a fault, and is not followed", () => {
    const text = `{"promptd":1,"prompts":${"[".repeat(3_000)}${"]".repeat(3_000)}}`;
    expect(codesOf(text)).toContain("LIMITS");
  });

  test("a schema that is nested too deep is not read at all", () => {
    const schema = `${'{"type":"object","properties":{"a":'.repeat(700)}{}${"}}".repeat(700)}`;
    const text = json([{ ...one, output: { schema: 0 } }]).replace('"schema": 0', `"schema": ${schema}`);
    expect(runAtOnce(readPrompts(text, catalogue)).sources).toEqual([]);
    expect(codesOf(text)).toEqual(["LIMITS"]);
  });

  test("at most 1,000 members are read of maps and lists that are far over their limit", () => {
    const members = Array.from({ length: 20_000 }, (_, index) => index);
    const named = (value: unknown) => Object.fromEntries(members.map((number) => [`m${number}`, value]));
    const faulty = {
      inputs: named(7),
      images: members,
      samples: members,
      tests: members,
      messages: members,
      steps: members.map((number) => ({ id: `s${number}`, template: 7 })),
    };
    for (const [field, value] of Object.entries(faulty)) {
      const faults = faultsOf(json([{ ...one, [field]: value }]));
      const ofMembers = faults
        .map((fault) => fault.field.replace(`prompts[1].${field}`, ""))
        .filter((rest) => /^[.[]/.test(rest));
      expect(faults.map((fault) => fault.message).join("\n"), field).toContain("20000");
      expect(new Set(ofMembers).size, field).toBe(1_000);
    }
    const choices = json([{ ...one, inputs: { a: { options: named(7) } } }]);
    expect(faultsOf(choices)).toHaveLength(1_001);
  });

  test("a schema that is too long is one fault, for an answer and for a test", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "integer", enum: Array.from({ length: 20_000 }, (_, n) => n) } },
    };
    const tooLong = expect.stringContaining("too long; the limit is 32,768 bytes");
    const tests = [{ inputs: { a: "x" }, expect: { schema } }];
    for (const fields of [{ output: { schema } }, { tests }])
      expect(faultsOf(json([{ ...one, ...fields }])).map(({ message }) => message)).toEqual([tooLong]);
  });

  test("twenty unknown fields are named, and the rest are counted", () => {
    const unknown = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`modl${index}`, 1]));
    const faults = faultsOf(json([{ ...one, ...unknown }]));
    expect(faults).toHaveLength(21);
    expect(faults.at(-1)?.message).toBe("and 29979 more are not known fields here.");
  });

  test("prompts that exceed a file's rendering work are one fault, and rendering stops", () => {
    const template = "{% for b in a %}{{ b }}{% endfor %}".repeat(40); // counts 8,000, and renders 40 outputs
    const samples = Array.from({ length: 10 }, () => ({ inputs: { a: "x" } }));
    const inputs = { a: { type: "list" } };
    const heavy = Array.from({ length: 5 }, (_, n) => ({ ...one, title: `Heavy ${n}`, template, inputs, samples }));
    const rendered = vi.spyOn(engine, "renderSync");
    expect(runAtOnce(readPrompts(json(heavy.slice(0, 2)), catalogue)).sources).toHaveLength(2);
    const calls = rendered.mock.calls.length;
    expect(faultsOf(json(heavy)).map(({ field, code }) => [field, code])).toEqual([["prompts[3].prompt", "LIMITS"]]);
    expect(rendered.mock.calls.length).toBe(2 * calls);
    vi.restoreAllMocks();
  });

  test("prompts with the same title get numbers, however many there are", () => {
    const sources = parsePromptFile(json(Array.from({ length: 2_000 }, () => one)), catalogue);
    expect(sources.at(-1)?.slug).toBe("one-2000");
  });

  test("a file of more than 5,000 prompts is rejected before they are checked", () => {
    expect(faultsOf(json(Array.from({ length: 5_001 }, () => 7)))).toEqual([
      {
        line: 3,
        field: "prompts",
        code: "FIELD",
        message: "has 5,001 prompts; the limit is 5,000 per file. Split them into several files",
      },
    ]);
  });

  test.each([
    ["fields", { descripton: "One" }],
    ["models", { model: "sandbox/texd" }],
  ])("wrong names of %s are explained only as long as the faults are shown", (_what, wrong) => {
    const messages = faultsOf(json(Array.from({ length: 4_000 }, () => ({ ...one, ...wrong })))).map(
      ({ message }) => message,
    );
    expect(messages).toHaveLength(4_000);
    expect(messages.filter((message) => message.includes("Did you mean"))).toHaveLength(100);
  });

  test("the faults of all prompts are reported together, and only the message is cut if there are many", () => {
    const bad = Array.from({ length: 300 }, () => ({ ...one, template: "{{ a b }}" }));
    const error = errorOf(json(bad));
    expect(error?.faults).toHaveLength(300);
    expect(error?.message.split("\n")).toHaveLength(101);
    expect(error?.message).toMatch(/and 200 more$/);
  });
});
