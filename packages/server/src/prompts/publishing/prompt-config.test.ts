import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkInputs } from "../inputs/check-inputs.ts";
import { catalogue, liveVersion, PENCIL_PORTRAIT, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";

const FIELDS = [
  "{}",
  "{ allowEmpty: true }",
  "{ default: d }",
  "{ default: '' }",
  "{ maxLength: 3 }",
  "{ default: d, maxLength: 3, allowEmpty: true }",
  "{ options: [x, y] }",
  "{ options: [x, y], default: y }",
  "{ options: { x: secret one, y: secret two }, allowEmpty: true }",
];

const IMAGE = { type: "url", url: "https://images.example.org/cat.png" } as const;

/** Uses the schema as any client would. */
function accepts(schema: Readonly<Record<string, unknown>>, inputs: unknown): boolean {
  return z.fromJSONSchema(schema).safeParse(inputs).success;
}

describe("inputSchema", () => {
  test("names its dialect and allows extra keys", () => {
    const { inputSchema } = liveVersion(textPrompt("{{ a }}")).config;
    expect(inputSchema["$schema"]).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(accepts(inputSchema, { textInputs: { a: "x", b: "y" }, more: 1 })).toBe(true);
  });

  test("accepts exactly the values that a run accepts, apart from surrounding blanks", () => {
    const value = fc.constantFrom(undefined, "", " ", "x", "y", "xyz", "long text", "d", "{{ a }}");
    fc.assert(
      fc.property(fc.constantFrom(...FIELDS), value, (field, given) => {
        const version = liveVersion(textPrompt("{{ a }}", `inputs: { a: ${field} }`));
        const textInputs: Record<string, string> = given === undefined ? {} : { a: given };
        const { issues } = checkInputs(version, { promptVersionId: "", inputs: { textInputs } }, catalogue);
        const isAccepted = accepts(version.config.inputSchema, { textInputs });
        fc.pre(given !== " ");
        expect(isAccepted).toBe(issues.length === 0);
      }),
      { numRuns: 300 },
    );
  });

  test("fixes the number of images", () => {
    const { inputSchema } = liveVersion(PENCIL_PORTRAIT).config;
    expect(
      [0, 1, 2].map((count) => accepts(inputSchema, { imageInputs: Array.from({ length: count }, () => IMAGE) })),
    ).toEqual([false, true, false]);
    expect(accepts(inputSchema, {})).toBe(false);
    expect(accepts(inputSchema, { imageInputs: [{ type: "file", file: "x" }] })).toBe(false);
  });
});

describe("config", () => {
  test("a select shows the names of its choices and never their texts", () => {
    const config = JSON.stringify(liveVersion(textPrompt("{{ a }}", `inputs: { a: ${FIELDS.at(-1)} }`)).config);
    expect(config).toContain('"options":["x","y"]');
    expect(config).not.toContain("secret");
  });

  test("no part of a template ever reaches the config", () => {
    const word = fc.stringMatching(/^[a-z]{12,20}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(word, { minLength: 4, maxLength: 4 }),
        ([body = "", rule = "", one = "", sample = ""]) => {
          const fields = `inputs: { a: { options: { x: ${one} } } }\ninstructions: ${rule}\nsamples: [{ outputs: [${sample}] }]`;
          const config = JSON.stringify(liveVersion(textPrompt(`${body} {{ a }}`, fields)).config);
          for (const secret of [body, rule, one, sample]) expect(config).not.toContain(secret);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("keys with the names of object members are ordinary keys", () => {
    const { config } = liveVersion(textPrompt("{{ constructor }}{{ toString }}"));
    expect(Object.keys(config.textInputs)).toEqual(["constructor", "toString"]);
    expect(config.textInputs["constructor"]).toMatchObject({ position: 0, required: true, default: null });
  });
});
