/** Reads `tests`: inputs and expectations of the output. They stay in the author's file. */
import { presentMembers } from "../../platform/json.ts";
import type { Expectations, PromptTest } from "../prompt-definition.ts";
import { readSchema } from "./call-fields.ts";
import { FIELD_LIMITS } from "./field-limits.ts";
import { FieldReader } from "./field-reader.ts";
import { lineFinder, type LineOf } from "./source-tree.ts";
import { reasonOf } from "../../platform/reason-of.ts";

const TEXT_RULE = { max: 100_000, mayBeEmpty: true, mayHaveLines: true };

export interface RawTest extends PromptTest {
  readonly line: number;
  readonly lineOf: LineOf;
}

export function readTests(reader: FieldReader): RawTest[] {
  return (reader.readers("tests", FIELD_LIMITS.tests, "with inputs and expect") ?? []).map(readTest);
}

function readTest(reader: FieldReader, index: number): RawTest {
  const test = {
    name: reader.text("name", { max: 200 }) ?? `test ${index + 1}`,
    textInputs: reader.textMap("inputs", TEXT_RULE),
    options: reader.textMap("options", TEXT_RULE),
    images: (reader.list("images") ?? []).map((item) => reader.asText(item, "images", { max: 2_048 }) ?? ""),
    expect: readExpectations(reader),
  };
  reader.finish();
  return { ...test, line: reader.source.line, lineOf: lineFinder(reader.source) };
}

function readExpectations(test: FieldReader): Expectations {
  const map = test.map("expect");
  if (map === null) return {};
  const reader = new FieldReader(map, test.fieldPath("expect"), test.faults);
  const schema = reader.map("schema");
  const expectations = presentMembers({
    contains: readTexts(reader, "contains"),
    notContains: readTexts(reader, "notContains"),
    matches: readPattern(reader),
    schema: schema === null ? null : readSchema(schema, reader),
    shorterThan: reader.integer("shorterThan", 1, 10_000_000),
    judge: readTexts(reader, "judge"),
    judgeModel: reader.text("judgeModel", { max: 100 }),
  });
  reader.finish();
  return expectations;
}

function readTexts(reader: FieldReader, name: string): string[] | null {
  return reader.texts(name, { max: 10_000, mayHaveLines: true })?.flatMap((text) => text ?? []) ?? null;
}

function readPattern(reader: FieldReader): string | null {
  const pattern = reader.text("matches", { max: 1_000, mayHaveLines: true });
  if (pattern === null) return null;
  try {
    return new RegExp(pattern, "u").source === "" ? null : pattern;
  } catch (error) {
    reader.fault("matches", `is not a valid regular expression: ${reasonOf(error)}`);
    return null;
  }
}
