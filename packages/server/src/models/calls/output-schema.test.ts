import { describe, expect, onTestFinished, test, vi } from "vitest";
import { requestOf, SANDBOX_CATALOGUE } from "../../../test/support/model-caller-fixture.ts";
import { createSandboxCaller } from "../../../test/support/sandbox-caller.ts";
import { useTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import type { ModelAdapter, ModelCall, ModelResult } from "../ai-sdk/model-adapter.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { NO_USAGE } from "../pricing/usage.ts";
import { failure } from "../providers/failure.ts";
import { sampleOf } from "../sandbox/json.ts";
import { callDirectly } from "./direct-call.ts";
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
    ["JSON between spaces", '\n {"name":"a"} \n', '{"name":"a"}'],
  ])("of %s is the JSON", (_name, answer, text) => {
    expect(readJsonAnswer(SCHEMA, answer)).toEqual({ kind: "fits", text });
  });

  test.each([
    ["no JSON", "Sure!", /not JSON/],
    ["a missing member", "{}", /name/],
    ["another type", '{"name":"a","age":"old"}', /age/],
    ["an unknown member", '{"name":"a","x":1}', /"x"/],
  ])("with %s does not match, and the problem is named", (_name, answer, problem) => {
    expect(readJsonAnswer(SCHEMA, answer)).toEqual({ kind: "unfit", problem: expect.stringMatching(problem) });
  });

  test("cannot be checked against something that is not a schema", () => {
    expect(schemaFault({ type: "nonsense" })).toMatch(/nonsense/);
    expect(schemaFault(SCHEMA)).toBeNull();
  });
});

test.each([
  ["schema.properties must be a map of schemas", { type: "object", properties: ["a"] }],
  ["schema.properties.a must be a schema", { type: "object", properties: { a: "string" } }],
  ["schema.properties.a must be a schema", { type: "object", properties: { a: null } }],
  ["schema.properties.a.items must be a schema", { type: "object", properties: { a: { type: "array", items: "x" } } }],
  ["schema.required must be a list of names", { type: "object", required: "a" }],
  ["schema.additionalProperties must be a schema", { type: "object", additionalProperties: "no" }],
  ["schema.enum must be a list of values", { enum: "low" }],
  ["schema.anyOf must be a list of schemas", { anyOf: [] }],
  ["schema.minLength must be a whole number, 0 or greater", { type: "string", minLength: "3" }],
  ["schema.exclusiveMinimum must be a number", { type: "number", exclusiveMinimum: true }],
])("a malformed schema is rejected with the location and what was expected: %s", (message, schema) => {
  expect(schemaFault(schema)).toContain(message);
});

describe("a short schema that causes endless work", () => {
  const twice = (keyword: string, name: string) => ({
    [keyword]: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }],
  });

  test.each(["allOf", "anyOf", "oneOf"])("by references that double with %s is refused", (keyword) => {
    const steps = Array.from({ length: 40 }, (_, n) => [`d${n + 1}`, twice(keyword, `d${n}`)] as const);
    const $defs = { d0: { type: "string" }, ...Object.fromEntries(steps) };
    expect(schemaFault({ type: "object", properties: { a: { $ref: "#/$defs/d40" } }, $defs })).toMatch(
      /more than 10,000 schemas/,
    );
    expect(schemaFault({ type: "object", properties: { a: { $ref: "#/$defs/d10" } }, $defs })).toBeNull();
  });

  test("does not block the process when the answer is nested too deeply, and the answer does not match", () => {
    const schema = {
      type: "object",
      properties: { a: { $ref: "#/$defs/node" } },
      $defs: {
        node: {
          type: "object",
          properties: { a: twice("allOf", "node"), b: { type: "number" }, c: { $ref: "#/$defs/node" } },
        },
      },
    };
    const problem = "it is too deeply nested or too long to check";
    const answer = `${'{"a":'.repeat(60)}{"b":"x"}${"}".repeat(60)}`;
    expect(schemaFault(schema)).toBeNull();
    expect(readJsonAnswer(schema, answer)).toEqual({ kind: "unfit", problem });
    // Without a time limit: 19 seconds, and 4 GB of problems.
    const slow = `{"a":${'{"c":'.repeat(200)}${'{"a":'.repeat(14)}{"b":"x"}${"}".repeat(215)}`;
    expect(readJsonAnswer(schema, slow)).toEqual({ kind: "unfit", problem });
    const list = { type: "object", properties: { a: { $ref: "#" } } };
    const long = `${'{"a":'.repeat(100_000)}{}${"}".repeat(100_000)}`;
    expect(readJsonAnswer(list, long).kind).toBe("unfit");
  });

  test("is not a tree, a list of itself, or a value that is null or itself", () => {
    const schema = {
      type: "object",
      properties: {
        children: { type: "array", items: { $ref: "#" } },
        next: { anyOf: [{ type: "null" }, { $ref: "#" }] },
      },
    };
    const answer = `${'{"children":[{}],"next":'.repeat(60)}null${"}".repeat(60)}`;
    expect(schemaFault(schema)).toBeNull();
    expect(readJsonAnswer(schema, answer).kind).toBe("fits");
  });
});

describe("an author's regular expression, which could run for minutes on model output,", () => {
  test.each([
    ["schema.pattern", { type: "string", pattern: "^(a+)+$" }],
    ["schema.patternProperties", { type: "object", patternProperties: { "^(a+)+$": { type: "string" } } }],
    ["schema.properties.a.pattern", { type: "object", properties: { a: { type: "string", pattern: "a" } } }],
    ["schema.items.anyOf.1.pattern", { type: "array", items: { anyOf: [{ type: "null" }, { pattern: "a" }] } }],
    ["schema.additionalProperties.pattern", { type: "object", additionalProperties: { pattern: "a" } }],
    ["schema.propertyNames.pattern", { type: "object", propertyNames: { pattern: "a" } }],
    ["schema.$defs.one.pattern", { $ref: "#/$defs/one", $defs: { one: { pattern: "a" } } }],
  ])("is refused: %s", (path, schema) => {
    expect(schemaFault(schema)).toMatch(`${path} is a regular expression`);
  });

  test("is not detected in a member's name or a value", () => {
    const schema = {
      type: "object",
      properties: {
        pattern: { type: "string", default: "x", enum: ["pattern"] },
        patternProperties: { type: "string" },
      },
      default: { pattern: "x" },
    };
    expect(schemaFault(schema)).toBeNull();
  });
});

const BUSY = failure("overloaded", { retry: "safe", breaker: "ignored" });

/** Returns these answers, one after another. */
function adapterOf(...answers: (string | ModelResult)[]) {
  const calls: ModelCall[] = [];
  const callModel: ModelAdapter["callModel"] = async (call) => {
    calls.push(call);
    const answer = answers[calls.length - 1] ?? "";
    if (typeof answer !== "string") return answer;
    return { kind: "text", text: answer, truncated: false, usage: NO_USAGE, requestId: null };
  };
  return { calls, adapter: { callModel, close: async () => {} } as unknown as ModelAdapter };
}

function answering(...answers: (string | ModelResult)[]) {
  const { calls, adapter } = adapterOf(...answers);
  const { call } = createSandboxCaller(db, { adapter, random: () => 0 });
  return { calls, call: () => call("Who?", { outputSchema: SCHEMA }) };
}

describe("a call with a schema", () => {
  test("that is answered correctly is made once", async () => {
    const { calls, call } = answering('```json\n{"name":"a"}\n```');
    expect(await call()).toMatchObject({ kind: "text", text: '{"name":"a"}' });
    expect(calls).toHaveLength(1);
  });

  test("that gets a wrong answer is repeated once, with the problem named", async () => {
    const { calls, call } = answering('{"age":3}', '{"name":"a"}');
    expect(await call()).toMatchObject({ kind: "text", text: '{"name":"a"}' });
    expect(calls.map(({ correction }) => correction)).toEqual([
      undefined,
      { answer: '{"age":3}', problem: expect.stringContaining("name") },
    ]);
  });

  test("that gets a wrong answer twice fails, and is not made a third time", async () => {
    const { calls, call } = answering("No.", "Still no.", '{"name":"a"}');
    expect(await call()).toMatchObject({ kind: "failed", message: expect.stringContaining("JSON that matches") });
    expect(calls).toHaveLength(2);
  });

  test("whose third answer is wrong fails for that reason", async () => {
    const { calls, call } = answering(BUSY, BUSY, "No.");
    expect(await call()).toMatchObject({ kind: "failed", message: expect.stringContaining("JSON that matches") });
    expect(calls).toHaveLength(3);
  });

  test("that fails when it is repeated goes to the fallback, with the problem named", async () => {
    const { calls, adapter } = adapterOf("No.", BUSY, '{"name":"a"}');
    const find: Catalogue["find"] = (model) => {
      const entry = SANDBOX_CATALOGUE.find(model);
      return entry?.model === "sandbox/text" ? { ...entry, fallback: "sandbox/text-free" } : entry;
    };
    const { call } = createSandboxCaller(db, { adapter, catalogue: { ...SANDBOX_CATALOGUE, find } });
    expect(await call("Who?", { outputSchema: SCHEMA })).toMatchObject({ kind: "text", text: '{"name":"a"}' });
    expect(calls.map(({ entry, correction }) => [entry.model, correction?.answer])).toEqual([
      ["sandbox/text", undefined],
      ["sandbox/text", "No."],
      ["sandbox/text-free", "No."],
    ]);
  });

  test("to the sandbox returns matching JSON, whatever the schema", async () => {
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

test.each([
  ["an endless list", { type: "array", items: { type: "string" }, minItems: 1e15 }],
  [
    "lists of lists",
    [1, 2, 3, 4, 5].reduce<object>((items) => ({ type: "array", items, minItems: 1_000 }), { type: "string" }),
  ],
  ["an endless text", { type: "string", minLength: 1e15 }],
])("the sandbox generates no more of %s than fits in memory", (_name, member) => {
  const made = JSON.stringify(sampleOf({ type: "object", properties: { a: member } }));
  expect(made.length).toBeLessThan(1_000_000);
});

describe("a call by an author who tries a prompt", () => {
  /** A random pause of length zero. */
  const direct = (...answers: (string | ModelResult)[]) => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
    const { calls, adapter } = adapterOf(...answers);
    const entry = SANDBOX_CATALOGUE.find("sandbox/text");
    if (entry === null) throw new Error("the sandbox is missing");
    const request = { ...requestOf(), outputSchema: SCHEMA };
    return { calls, answer: callDirectly(adapter, entry, request, new AbortController().signal) };
  };

  test("is repeated once, with the problem named", async () => {
    const { calls, answer } = direct("No.", '{"name":"a"}');
    expect(await answer).toEqual({ kind: "text", text: '{"name":"a"}' });
    expect(calls[1]?.correction).toEqual({ answer: "No.", problem: "it is not JSON" });
  });

  test("whose third answer is wrong fails for that reason", async () => {
    const { calls, answer } = direct(BUSY, BUSY, '{"age":3}');
    expect(await answer).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("not JSON that matches the schema: name"),
    });
    expect(calls).toHaveLength(3);
  });
});
