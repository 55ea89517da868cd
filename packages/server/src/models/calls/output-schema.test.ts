import { describe, expect, test } from "vitest";
import { createSandboxCaller } from "../../../test/support/sandbox-caller.ts";
import { useTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import type { ModelAdapter, ModelCall } from "../ai-sdk/model-adapter.ts";
import { NO_USAGE } from "../pricing/usage.ts";
import { readJsonAnswer, schemaFault } from "./output-schema.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));

const SCHEMA = {
  type: "object",
  properties: { name: { type: "string", minLength: 1 }, age: { type: "integer" } },
  required: ["name"],
  additionalProperties: false,
};

describe("an answer", () => {
  test.each([
    ["JSON that fits", '{"name":"a","age":3}', '{"name":"a","age":3}'],
    ["JSON in a fence", '```json\n{"name":"a"}\n```', '{"name":"a"}'],
    ["JSON between blanks", '\n {"name":"a"} \n', '{"name":"a"}'],
  ])("of %s is the JSON", (_name, answer, text) => {
    expect(readJsonAnswer(SCHEMA, answer)).toEqual({ kind: "fits", text });
  });

  test.each([
    ["no JSON", "Sure!", /not JSON/],
    ["a missing member", "{}", /name/],
    ["another type", '{"name":"a","age":"old"}', /age/],
    ["an unknown member", '{"name":"a","x":1}', /"x"/],
  ])("with %s does not fit, and the problem is named", (_name, answer, problem) => {
    expect(readJsonAnswer(SCHEMA, answer)).toEqual({ kind: "unfit", problem: expect.stringMatching(problem) });
  });

  test("cannot be checked with what is not a schema", () => {
    expect(schemaFault({ type: "nonsense" })).toMatch(/nonsense/);
    expect(schemaFault(SCHEMA)).toBeNull();
  });
});

/** A model that gives these answers, one after the other. */
function answering(...answers: string[]) {
  const calls: ModelCall[] = [];
  const callModel: ModelAdapter["callModel"] = async (call) => {
    calls.push(call);
    const text = answers[calls.length - 1] ?? "";
    return { kind: "text", text, truncated: false, usage: NO_USAGE, requestId: null };
  };
  const { call } = createSandboxCaller(db, {
    adapter: { callModel, close: async () => {} } as unknown as ModelAdapter,
  });
  return { calls, call: () => call("Who?", { outputSchema: SCHEMA }) };
}

describe("a call with a schema", () => {
  test("that is answered at once is made once", async () => {
    const { calls, call } = answering('```json\n{"name":"a"}\n```');
    expect(await call()).toMatchObject({ kind: "text", text: '{"name":"a"}' });
    expect(calls).toHaveLength(1);
  });

  test("that is answered with something else is made once more, which names what is wrong", async () => {
    const { calls, call } = answering('{"age":3}', '{"name":"a"}');
    expect(await call()).toMatchObject({ kind: "text", text: '{"name":"a"}' });
    expect(calls.map(({ correction }) => correction)).toEqual([
      undefined,
      { answer: '{"age":3}', problem: expect.stringContaining("name") },
    ]);
  });

  test("that is answered with something else twice fails, and is not made a third time", async () => {
    const { calls, call } = answering("No.", "Still no.", '{"name":"a"}');
    expect(await call()).toMatchObject({ kind: "failed", message: expect.stringContaining("JSON that fits") });
    expect(calls).toHaveLength(2);
  });

  test("of the sandbox returns JSON that fits, whatever the schema", async () => {
    const outputSchema = {
      type: "object",
      properties: {
        list: { type: "array", items: { $ref: "#/$defs/one" }, minItems: 2 },
        kind: { enum: ["x", "y"] },
        when: { type: "string", format: "date" },
        least: { type: "number", minimum: 4 },
        yes: { type: "boolean" },
        nothing: { type: ["null", "string"] },
        either: { anyOf: [{ type: "string" }, { type: "null" }] },
      },
      $defs: { one: { type: "object", properties: { v: { type: "integer" } }, required: ["v"] } },
      required: ["list", "kind", "when", "least", "yes", "nothing", "either"],
    };
    const outcome = await createSandboxCaller(db, {}).call("Who?", { outputSchema });
    const text = outcome.kind === "text" ? outcome.text : "";
    expect(readJsonAnswer(outputSchema, text)).toEqual({ kind: "fits", text });
  });
});
