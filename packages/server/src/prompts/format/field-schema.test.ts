import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { faultsOf, parseOne, TEA_POEM, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";
import type { PlainObject } from "../../platform/json.ts";
import { promptFileSchema } from "./field-schema.ts";

const ROOT = join(import.meta.dirname, "../../../../..");

interface Described {
  readonly properties: Readonly<Record<string, { readonly description?: unknown }>>;
}

describe("the schema for editors", () => {
  test.each([
    ["a prompt", "note: mine", [], ["template"]],
    ["a step", "steps: { main: { note: mine } }", ["$defs", "step"], ["id", "template"]],
    [
      "an input",
      "inputs: { topic: { type: number, note: mine } }",
      ["properties", "inputs", "additionalProperties"],
      [],
    ],
    ["a test", "tests: [{ note: mine }]", ["properties", "tests", "items"], []],
    [
      "what a test expects",
      "tests: [{ expect: { note: mine } }]",
      ["properties", "tests", "items", "properties", "expect"],
      [],
    ],
  ])("has exactly the fields of %s that the reader knows", (_what, fields, path, elsewhere) => {
    const [read = ""] = faultsOf(textPrompt("{{ topic }}", fields)).flatMap(
      ({ message }) => /Known fields: (.*)\. Start/.exec(message)?.[1] ?? [],
    );
    const described = path.reduce<unknown>((at, name) => (at as PlainObject)[name], promptFileSchema()) as Described;
    expect([...read.split(", "), ...elsewhere].toSorted()).toEqual(Object.keys(described.properties).toSorted());
  });

  test("describes every field", () => {
    const { properties, $defs } = promptFileSchema() as unknown as Described & { readonly $defs: { step: Described } };
    const all = [...Object.entries(properties), ...Object.entries($defs.step.properties)];
    expect(all.filter(([, { description }]) => typeof description !== "string").map(([name]) => name)).toEqual([]);
  });

  test("accepts the front matter of every example and seed file", () => {
    const files = globSync(["examples/*.prompt.md", "packages/server/seed/prompts/*.prompt.md"], { cwd: ROOT });
    expect(files.length).toBeGreaterThan(60);
    const validator = z.fromJSONSchema(promptFileSchema());
    for (const file of files) {
      const [, front = ""] = readFileSync(join(ROOT, file), "utf8").split(/^---$/m);
      const checked = validator.safeParse(parse(front));
      expect({ file, issues: checked.error?.issues ?? [] }).toEqual({ file, issues: [] });
    }
  });
});

describe("custom fields", () => {
  test.each([
    ["the prompt", "x-note: mine"],
    ["an input", "inputs: { topic: { x-note: mine } }"],
    ["a test", "tests: [{ x-note: mine, expect: { x-note: mine } }]"],
  ])("of %s are accepted by both the schema and the reader, and other unknown fields by neither", (_what, field) => {
    const validator = z.fromJSONSchema(promptFileSchema());
    const fits = (fields: string) =>
      validator.safeParse(parse(`promptd: 1\ntitle: T\nmodel: sandbox/text\n${fields}`)).success;
    const file = (fields: string) => faultsOf(textPrompt("{{ topic }}", fields)).length === 0;
    expect([fits(field), file(field)]).toEqual([true, true]);
    const unknown = field.replaceAll("x-note", "note");
    expect([fits(unknown), file(unknown)]).toEqual([false, false]);
  });
});

describe("a file that is only YAML", () => {
  const [, front = "", body = ""] = TEA_POEM.split(/^---$/m);
  const yaml = `# yaml-language-server: $schema=./prompt-file.schema.json\n${front.trim()}\ntemplate: |\n  ${body.trim()}\n`;

  test("is the same prompt as the file with a body", () => {
    const { definition, title } = parseOne(yaml);
    expect({ definition, title }).toEqual({ definition: parseOne(TEA_POEM).definition, title: "Tea poem" });
  });

  test("reports line and column of its faults", () => {
    expect(faultsOf(yaml.replace("{{ topic }}", "{{ the topic }}"))[0]).toMatchObject({
      code: "TEMPLATE_SYNTAX",
      line: yaml.slice(0, yaml.indexOf("Write a")).split("\n").length,
      excerpt: "{{ the topic }}",
    });
  });
});
