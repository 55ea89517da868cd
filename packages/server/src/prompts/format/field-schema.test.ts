import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { faultsOf, parseOne, TEA_POEM } from "../../../test/prompts/prompt-fixtures.ts";
import { promptFileSchema } from "./field-schema.ts";

const ROOT = join(import.meta.dirname, "../../../../..");

describe("the schema for editors", () => {
  test("has every field that is read, and a description of each", () => {
    const { properties } = promptFileSchema() as { properties: Record<string, object> };
    for (const name of ["promptd", "title", "inputs", "temperature", "messages", "output", "steps", "samples", "tests"])
      expect(Object.keys(properties)).toContain(name);
  });

  test("takes the front matter of every example and seed file", () => {
    const files = globSync(["examples/*.prompt.md", "packages/server/seed/prompts/*.prompt.md"], { cwd: ROOT });
    expect(files.length).toBeGreaterThan(60);
    const { patternProperties: _own, ...schema } = promptFileSchema();
    const validator = z.fromJSONSchema(schema);
    for (const file of files) {
      const [, front = ""] = readFileSync(join(ROOT, file), "utf8").split(/^---$/m);
      const checked = validator.safeParse(parse(front));
      expect({ file, issues: checked.error?.issues ?? [] }).toEqual({ file, issues: [] });
    }
  });
});

describe("a file in YAML alone", () => {
  const [, front = "", body = ""] = TEA_POEM.split(/^---$/m);
  const yaml = `# yaml-language-server: $schema=./prompt-file.schema.json\n${front.trim()}\ntemplate: |\n  ${body.trim()}\n`;

  test("is the same prompt as the file with a body", () => {
    const { definition, title } = parseOne(yaml);
    expect({ definition, title }).toEqual({ definition: parseOne(TEA_POEM).definition, title: "Tea poem" });
  });

  test("shows line and column of its faults", () => {
    expect(faultsOf(yaml.replace("{{ topic }}", "{{ the topic }}"))[0]).toMatchObject({
      code: "TEMPLATE_SYNTAX",
      line: yaml.slice(0, yaml.indexOf("Write a")).split("\n").length,
      excerpt: "{{ the topic }}",
    });
  });
});
