/** Fields for model calls, input types, and loops over lists. */
import { describe, expect, test } from "vitest";
import { catalogue, faultsOf, liveVersion, parseOne, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";
import { loadCatalogue } from "../../models/index.ts";
import { checkInputs } from "../inputs/check-inputs.ts";
import { renderStep } from "../template/render-step.ts";
import { buildConfig } from "../publishing/prompt-config.ts";

const on = (model: string, fields: string) => textPrompt("x", fields).replace("sandbox/text", model);
const faults = (file: string) => faultsOf(file).map(({ field, message }) => `${field}: ${message}`);

const allEnabled = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
const withoutOpenAi = loadCatalogue({
  overlayFile: null,
  hasSecret: (name) => name !== "OPENAI_API_KEY",
  sandbox: true,
});

describe("settings of a call", () => {
  test("are stored as they are written", () => {
    const file = on("sandbox/text", 'temperature: 0.2\ntopP: 0.9\nseed: 7\nstop: ["END"]\nreasoningEffort: high');
    expect(parseOne(file).definition.steps[0]).toMatchObject({
      settings: { temperature: 0.2, topP: 0.9, seed: 7, stop: ["END"] },
      options: { reasoningEffort: "high" },
    });
  });

  test("are absent unless the file sets them, so that older versions stay unchanged", () => {
    const [step] = parseOne(textPrompt("x")).definition.steps;
    expect(Object.keys(step ?? {})).not.toEqual(expect.arrayContaining(["settings"]));
    expect(step).not.toHaveProperty("messages");
    expect(step).not.toHaveProperty("outputSchema");
  });

  test.each([
    ["an OpenAI reasoning model", "openai/gpt-5.2", "temperature: 0.2", "openai/gpt-5.2 does not support temperature"],
    ["Responses", "openai/gpt-4.1", "seed: 7", "openai/gpt-4.1 does not support seed"],
    ["Responses", "openai/gpt-4.1", "stop: END", "openai/gpt-4.1 does not support stop"],
    ["Claude", "anthropic/claude-haiku-4-5", "temperature: 1.5", "accepts at most 1"],
    ["Claude", "anthropic/claude-haiku-4-5", "temperature: 0.5\ntopP: 0.5", "temperature or topP, not both"],
    ["a new Claude", "anthropic/claude-opus-5", "temperature: 0.5", "does not support temperature"],
    ["Mistral", "mistral/mistral-large-2512", "seed: 1", "does not support seed"],
    ["Gemini", "google/gemini-2.5-flash", "stop: [a, b, c, d, e, f]", "accepts at most 5"],
    ["an image model", "sandbox/image", "temperature: 0.2", "works only with text models"],
    ["an image model", "sandbox/image", "messages: [{ user: a }]", "works only with text models"],
    ["any model", "sandbox/text", "temperature: 3", "must be a number from 0 to 2"],
    ["any model", "sandbox/text", "reasoningEffort: huge", '"huge" is not a valid value; accepted: low, medium, high'],
  ])("that %s does not support are faults: %s, %s", (_name, model, fields, message) => {
    expect(faults(on(model, fields)).join("\n")).toContain(message);
  });

  test("at the top level belong to the last step", () => {
    const file = `---
promptd: 1
title: T
model: sandbox/text
temperature: 0.1
steps: { a: { temperature: 0.9 }, b: {} }
---
<!-- step: a -->
x
<!-- step: b -->
{{ steps.a }}
`;
    expect(parseOne(file).definition.steps.map((step) => step.settings)).toEqual([
      { temperature: 0.9 },
      { temperature: 0.1 },
    ]);
  });
});

describe("messages", () => {
  const file = textPrompt(
    "About {{ topic }}.",
    "messages:\n  - user: About {{ sample }}.\n  - role: assistant\n    content: Once upon a time.",
  );

  test("are templates that are rendered with the inputs, and their inputs are found", () => {
    const version = liveVersion(file);
    expect(renderStep(version, 0, { topic: "rain", sample: "fog" }, {})).toEqual({
      prompt: "About rain.",
      instructions: "",
      messages: [
        { role: "user", text: "About fog." },
        { role: "assistant", text: "Once upon a time." },
      ],
    });
  });

  test("with the system role are faults that point to the instructions", () => {
    expect(faults(textPrompt("x", "messages: [{ system: Be kind. }]"))).toEqual([
      "messages[1]: has the role system: put its text under instructions instead",
    ]);
  });

  test("with a fault report its location", () => {
    expect(faultsOf(textPrompt("x", "messages:\n  - user: Say {{ a b }}."))[0]).toMatchObject({
      line: 6,
      column: 18,
      field: "messages[1]",
    });
  });
});

describe("an output schema", () => {
  test("is stored, and callers see it in the config", () => {
    const fields = "output: { schema: { type: object, properties: { a: { type: string } }, required: [a] } }";
    const { definition, model } = parseOne(textPrompt("x", fields));
    const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    expect(definition.steps[0]?.outputSchema).toEqual(schema);
    expect(buildConfig(definition, catalogue, model).output).toEqual({ type: "text", schema });
  });

  test("web search appears in the config, with the maximum number of searches that all steps pay for", () => {
    const searches = (fields: string) => {
      const { definition, model } = parseOne(textPrompt("x", fields));
      return buildConfig(definition, catalogue, model).webSearch;
    };
    const most = catalogue.find("sandbox/text")?.webSearch?.searchesMax;
    expect([searches("webSearch: true"), searches("webSearch: false"), most]).toEqual([
      { searchesMax: most },
      undefined,
      expect.any(Number),
    ]);
  });

  test.each([
    ["{ type: array, items: { type: string } }", "must have type: object"],
    ["{ type: object, properties: { a: { description: x } } }", "output.schema.properties.a needs a type"],
    ["{ type: object, if: {}, then: {} }", "cannot be used: Conditional schemas"],
    ["text", "must be a JSON Schema, got text"],
    ["{ type: object, properties: { a: { type: string, pattern: x } } }", "schema.properties.a.pattern is a regular"],
    ['{ type: object, properties: { a: { type: string, title: "\\0" } } }', "output.schema: contains U+0000"],
    ['{ type: object, properties: { "a\\uD800": { type: string } } }', "output.schema: contains U+0000 or an unpaired"],
  ])("%s is rejected", (schema, message) => {
    expect(faults(textPrompt("x", `output: { schema: ${schema} }`)).join("\n")).toContain(message);
  });
});

describe("a schema that a test expects", () => {
  test.each([
    ["{ type: nonsense }", "tests[1].expect.schema: cannot be used: Unsupported type: nonsense"],
    ["{ type: string, pattern: x }", "tests[1].expect.schema: cannot be used: schema.pattern is a regular expression"],
  ])("%s is rejected", (schema, message) => {
    expect(faults(textPrompt("x", `tests: [{ expect: { schema: ${schema} } }]`)).join("\n")).toContain(message);
  });
});

describe("inputs of a type", () => {
  const TYPED = textPrompt(
    '{{ n }} {% if n > 5 %}many{% endif %} {% if yes %}yes{% else %}no{% endif %} {{ day }} {% for item in things %}[{{ forloop.index }} {{ item }}]{% endfor %} {{ things | size }} {{ things | join: " + " }}',
    "inputs:\n  n: { type: number, min: 1, max: 20, default: 7 }\n  yes: { type: boolean, default: true }\n  day: { type: date }\n  things: { type: list, multiple: { min: 1, max: 3 } }",
  );
  const check = (textInputs: Record<string, string>) =>
    checkInputs(liveVersion(TYPED), { promptVersionId: "", inputs: { textInputs } }, catalogue);
  const render = (textInputs: Record<string, string>) =>
    renderStep(liveVersion(TYPED), 0, check(textInputs).textInputs, {}).prompt;

  test("determine what a condition means: a boolean works as one, but even empty text is true", () => {
    const fields = "inputs:\n  yes: { type: boolean, default: true }\n  tone: { default: calm }";
    const { warnings } = parseOne(textPrompt("{% if yes and tone %}Yes.{% endif %}", fields));
    const expected = expect.stringContaining('To test whether "tone" was given, write "!= blank".') as string;
    expect(warnings.filter((warning) => warning.includes("counts as true"))).toEqual([expected]);
  });

  test("are sent as text, and are numbers, booleans, and lists in the template", () => {
    expect(render({ day: "2026-01-31", things: "a, b" })).toBe("7 many yes 2026-01-31 [1 a][2 b] 2 a + b");
    expect(render({ n: "3", yes: "false", day: "2026-01-31", things: "a, b\nc" })).toBe(
      "3  no 2026-01-31 [1 a, b][2 c] 2 a, b + c",
    );
  });

  test.each([
    ["n", "seven", "must be a number such as 7 or 2.5."],
    ["n", "21", "must be at most 20."],
    ["yes", "maybe", "must be true or false."],
    ["day", "2026-02-30", "must be a date such as 2026-01-31."],
    ["things", "a,b,c,d", "must have 1 to 3 items"],
  ])("are checked: %s = %s", (key, value, message) => {
    const { issues } = check({ day: "2026-01-31", things: "a", [key]: value });
    expect(issues).toMatchObject([{ path: ["body", "inputs", "textInputs", key], code: "invalid_value" }]);
    expect(issues[0]?.message).toContain(message);
  });

  test("are shown in the config and its input schema", () => {
    const { textInputs, inputSchema } = liveVersion(TYPED).config;
    expect(Object.values(textInputs).map(({ type }) => type)).toEqual(["number", "boolean", "date", "list"]);
    expect(textInputs["n"]).toMatchObject({ min: 1, max: 20, default: "7" });
    const fields = (inputSchema["properties"] as { textInputs: { properties: Record<string, { pattern: string }> } })
      .textInputs.properties;
    const fits = (key: string, value: string) => new RegExp(fields[key]?.pattern ?? "$^", "u").test(value);
    expect([fits("n", "7"), fits("n", "2.5"), fits("n", ""), fits("n", "x")]).toEqual([true, true, true, false]);
    expect([fits("day", "2026-01-31"), fits("day", ""), fits("day", "soon")]).toEqual([true, false, false]);
    expect([fits("yes", "true"), fits("yes", "1"), fits("things", "a\nb")]).toEqual([true, false, true]);
  });

  test.each([
    ["{% for a in topic %}{{ a }}{% endfor %}", "inputs: { topic: {} }", '"topic" is not a list'],
    ["{{ things }}", "inputs: { things: { type: list } }", 'write {{ things | join: ", " }}'],
    ["{% for a in b %}{% for c in d %}{% endfor %}{% endfor %}", "", "Loops cannot be nested."],
    ["{% for a in b limit: 2 %}{% endfor %}", "", "Expected one value"],
    ["{{ forloop.index }}", "", '"forloop" is available only inside'],
    [
      "{% for topic in things %}{% endfor %}{{ topic }}",
      "inputs: { topic: {}, things: { type: list } }",
      "is an input",
    ],
    ["{{ a }}", "inputs: { a: { type: number, options: [x] } }", "can be used only with type: select"],
    ["{{ a }}", "inputs: { a: { type: colour } }", "must be one of: text, number"],
  ])("%s is rejected", (body, fields, message) => {
    expect(faults(textPrompt(body, fields)).join("\n")).toContain(message);
  });

  test("a loop over an undeclared input makes it a list", () => {
    expect(parseOne(textPrompt("{% for a in b %}{{ a }}{% endfor %}")).definition.inputs).toMatchObject([
      { key: "b", type: "list" },
    ]);
  });
});

test("a description of 2,000, a slug of 120, and a tag of 64 characters are accepted; one character more is not", () => {
  const file = (more: number) =>
    textPrompt(
      "x",
      `description: ${"d".repeat(2_000 + more)}\nslug: ${"s".repeat(120 + more)}\ntags: [${"t".repeat(64 + more)}]`,
    );
  expect(faultsOf(file(0))).toEqual([]);
  expect(faultsOf(file(1)).map(({ field }) => field)).toEqual(["description", "slug", "tags"]);
});

describe("web search", () => {
  const steps = (fields: string) => parseOne(on("sandbox/text", fields)).definition.steps;

  test.each([
    ["webSearch: true", { sources: false }],
    ["webSearch: { sources: true }", { sources: true }],
    ["webSearch: {}", { sources: false }],
  ])("is stored as it is written: %s", (fields, webSearch) => {
    expect(steps(fields)[0]).toMatchObject({ webSearch });
  });

  test.each(["", "webSearch: false"])("is absent unless requested: %j", (fields) => {
    expect(steps(fields)[0]).not.toHaveProperty("webSearch");
  });

  test("at the top level applies to the last step, unless that step turns it off", () => {
    const file = (last: string) => `---
promptd: 1
title: T
model: sandbox/text
webSearch: true
steps: { a: {}, b: ${last} }
---
<!-- step: a -->
x
<!-- step: b -->
{{ steps.a }}
`;
    const asked = (last: string) =>
      parseOne(file(last)).definition.steps.map(({ webSearch }) => webSearch !== undefined);
    expect([asked("{}"), asked("{ webSearch: false }")]).toEqual([
      [false, true],
      [false, false],
    ]);
  });

  const schema = "output: { schema: { type: object, properties: { a: { type: string } } } }";
  test.each([
    ["a model that does not search", "xai/grok-4.7", "webSearch: true", "xai/grok-4.7 does not support web search"],
    ["an image model", "sandbox/image", "webSearch: true", "works only with text models"],
    [
      "a fallback that does not search",
      "sandbox/text",
      "webSearch: true\nfallback: [xai/grok-4.7]",
      "fallback: xai/grok-4.7 does not",
    ],
    [
      "an older Gemini with a schema",
      "google/gemini-2.5-flash",
      `webSearch: true\n${schema}`,
      "follow a schema in one call",
    ],
    ["Claude with a schema", "anthropic/claude-opus-5", `webSearch: true\n${schema}`, "search in an earlier step"],
    [
      "sources after JSON",
      "sandbox/text",
      `webSearch: { sources: true }\n${schema}`,
      "which JSON output does not allow",
    ],
    ["another value", "sandbox/text", "webSearch: often", "must be true, false, or { sources: true }, got text"],
    ["another member", "sandbox/text", "webSearch: { deep: true }", "webSearch.deep: is not a known field here"],
  ])("is a fault for %s: %s", (_name, model, fields, message) => {
    expect(faults(on(model, fields)).join("\n")).toContain(message);
  });

  test.each(["openai/gpt-5.2", "google/gemini-3.6-flash", "sandbox/text"])("works with a schema for %s", (model) => {
    expect(faults(on(model, `webSearch: true\n${schema}`))).toEqual([]);
  });

  test("makes a role choose a model that supports it", () => {
    const bound = (needs: object) => allEnabled.bind("text-default", { images: 0, ...needs })?.model;
    expect(bound({ searchesWeb: true })).toBe("openai/gpt-6.1-terra");
    const claude = (model: string) => model.startsWith("anthropic/");
    expect(claude(withoutOpenAi.bind("text-default", { images: 0, searchesWeb: true })?.model ?? "")).toBe(true);
    expect(withoutOpenAi.bind("text-default", { images: 0, searchesWeb: true, hasSchema: true })?.model).toBe(
      "google/gemini-3.8-flash",
    );
  });
});
