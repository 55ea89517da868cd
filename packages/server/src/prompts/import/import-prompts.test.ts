import { describe, expect, test } from "vitest";
import { catalogue, faultsOf, parseOne } from "../../../test/prompts/prompt-fixtures.ts";
import { importHint, recognizeFormat, type ForeignFormat } from "../format/foreign-format.ts";
import { convertTemplate } from "./convert-template.ts";
import { importPrompts } from "./import-prompts.ts";

const made = (format: ForeignFormat, text: string, name = "my-file.json") =>
  importPrompts({ name, text }, format, catalogue);

function importOne(format: ForeignFormat, text: string, name?: string) {
  const [file, ...others] = made(format, text, name);
  if (file === undefined || others.length > 0) throw new Error("Expected one file.");
  expect(faultsOf(file.text)).toEqual([]);
  return { ...file, source: parseOne(file.text) };
}

const OPENAI = JSON.stringify({
  id: "resp_1",
  object: "response",
  model: "gpt-4.1-mini-2025-04-14",
  prompt: { id: "pmpt_123", version: "4", variables: { customer_name: "Acme", issue: "billing" } },
  instructions: [
    { type: "message", role: "developer", content: [{ type: "input_text", text: "Be brief with {{customer_name}}." }] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Example." }] },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "Sure." }] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "About {{issue}}." }] },
  ],
  temperature: 0.4,
  top_p: 1,
  max_output_tokens: 700,
  text: {
    format: {
      type: "json_schema",
      name: "x",
      schema: { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false },
    },
  },
  tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }],
});

describe("a stored prompt of OpenAI", () => {
  test("keeps its messages, settings, schema and model, and notes its id and its tools", () => {
    const { name, source, text, notes } = importOne("openai", OPENAI, "support.json");
    expect(name).toBe("support.prompt.md");
    expect(source).toMatchObject({ title: "support", model: "openai/gpt-4.1-mini" });
    expect(source.definition.inputs.map(({ key }) => key).toSorted()).toEqual(["customer_name", "issue"]);
    expect(source.definition.steps[0]).toMatchObject({
      template: "About {{ issue }}.",
      instructions: "Be brief with {{ customer_name }}.",
      messages: [
        { role: "user", template: "Example." },
        { role: "assistant", template: "Sure." },
      ],
      settings: { temperature: 0.4 },
      maxOutputTokens: 700,
      outputSchema: { type: "object" },
    });
    expect(notes.join("\n")).toMatch(/stored prompt pmpt_123, version 4[\s\S]*tools: /);
    expect(text).toContain("# - tools: ");
  });

  test("that searches the web still does if its model can, and notes the search settings that are lost", () => {
    const tools = [{ type: "web_search_preview", search_context_size: "low", user_location: null }];
    const importSearch = (more: object) =>
      importOne("openai", JSON.stringify({ input: "News of {{x}}.", tools, ...more }));
    const { source, notes } = importSearch({ model: "gpt-5.2" });
    expect(source.definition.steps[0]?.webSearch).toEqual({ sources: false });
    expect(notes).toContain('tools.web_search_preview.search_context_size: "low"');
    const without = importSearch({ model: "mistral-small-2603" });
    expect(without.source.definition.steps[0]).not.toHaveProperty("webSearch");
    expect(without.notes.join("\n")).toMatch(
      /The prompt searched the web, but the model cannot\. Choose a model that can/,
    );
  });

  test("loses settings that its model does not accept, with a note", () => {
    const { source, notes } = importOne(
      "openai",
      JSON.stringify({ model: "gpt-5.2", input: "Say {{x}}.", temperature: 0.4 }),
    );
    expect(source.definition.steps[0]).not.toHaveProperty("settings");
    expect(notes).toContain("temperature: 0.4 was left out: the model does not accept it.");
  });

  test("with only system text becomes the prompt", () => {
    const { source } = importOne("openai", JSON.stringify({ model: "gpt-4.1", instructions: "Name a tea." }));
    expect(source.definition.steps[0]).toMatchObject({ template: "Name a tea.", instructions: "" });
  });

  test("notes what its model is called here, and that a retired model is replaced by its successor", () => {
    expect(importOne("openai", OPENAI).notes).toContain(
      "Here the model gpt-4.1-mini-2025-04-14 is openai/gpt-4.1-mini.",
    );
    const named = JSON.stringify({ model: "openai/gpt-4.1-mini", input: "Hi" });
    expect(importOne("openai", named).notes).toEqual([]);
    const entries = catalogue.entries.map((entry) =>
      entry.model === "openai/gpt-4.1-mini"
        ? { ...entry, status: "retired" as const, successor: "openai/gpt-5.2" }
        : entry,
    );
    const later = {
      ...catalogue,
      entries,
      find: (model: string) => entries.find((one) => one.model === model) ?? null,
    };
    const [file] = importPrompts({ name: "x.json", text: named }, "openai", later);
    expect(file?.notes).toEqual(["The model openai/gpt-4.1-mini is retired. Its successor is used: openai/gpt-5.2."]);
  });

  test("with an unknown model gets another model, with a note", () => {
    const { source, notes } = importOne("openai", JSON.stringify({ model: "gpt-99", input: "Hi" }));
    expect(source.definition.steps[0]).toMatchObject({ model: "sandbox/text", role: { name: "text-default" } });
    expect(notes.join()).toContain("The model gpt-99 is not known here");
  });
});

test("a Langfuse prompt keeps text, settings, and tags; message placeholders and labels are noted", () => {
  const { source, notes } = importOne(
    "langfuse",
    JSON.stringify({
      name: "team/movie-critic",
      type: "chat",
      prompt: [
        { role: "system", content: "You are a {{level}} critic." },
        { type: "placeholder", name: "history" },
        { role: "user", content: "Do you like {{movie}}?" },
      ],
      config: { model: "gpt-4.1", temperature: 0.5, supported_languages: ["en"] },
      labels: ["production"],
      tags: ["movies"],
      version: 3,
    }),
  );
  expect(source).toMatchObject({ title: "movie-critic", tags: ["movies"], model: "openai/gpt-4.1" });
  expect(source.definition.steps[0]).toMatchObject({
    template: "Do you like {{ movie }}?",
    settings: { temperature: 0.5 },
  });
  expect(notes.join("\n")).toMatch(/supported_languages[\s\S]*production[\s\S]*history/);
});

test("a Dotprompt file keeps roles, sections, loops, defaults, and descriptions", () => {
  const text = `---
model: googleai/gemini-2.5-flash
config: { temperature: 0.7, topK: 3 }
input:
  schema:
    theme: string, what it is about
    items(array): string
  default: { theme: tea }
---
{{role "system"}}
Be kind.
{{role "user"}}
About {{theme}}.{{#if tone}} Tone: {{tone}}.{{else}} Any tone.{{/if}}
{{#each items}}- {{this}}
{{/each}}{{media url=photo}}`;
  const { source, notes } = importOne("dotprompt", text, "menu.prompt");
  expect(source).toMatchObject({ title: "menu", model: "google/gemini-2.5-flash" });
  const { inputs, steps } = source.definition;
  expect(steps[0]).toMatchObject({ instructions: "Be kind.", settings: { temperature: 0.7 } });
  expect(steps[0]?.template).toBe(
    "About {{ theme }}.{% if tone != blank %} Tone: {{ tone }}.{% else %} Any tone.{% endif %}\n{% for item in items %}- {{ item }}\n{% endfor %}",
  );
  expect(inputs).toMatchObject([
    { key: "theme", description: "what it is about", default: "tea" },
    { key: "tone" },
    { key: "items", type: "list" },
  ]);
  expect(notes.join("\n")).toMatch(/topK[\s\S]*media/);
});

test("a Prompty file keeps roles, parameters, and its sample", () => {
  const text = `---
name: Basic prompt
description: Answers a question.
authors: [someone]
model:
  api: chat
  configuration: { type: openai, name: gpt-4o-mini }
  parameters: { max_tokens: 300, temperature: 0.2 }
sample: { question: Why is the sky blue?, context: School. }
---
system:
You know {{context}}.
{# not for the model #}
{% if formal %}Be formal.{% endif %}

user:
{{question}}
`;
  const { source } = importOne("prompty", text, "basic.prompty");
  expect(source).toMatchObject({
    title: "Basic prompt",
    model: "openai/gpt-4o-mini",
    description: "Answers a question.",
  });
  expect(source.definition.steps[0]).toMatchObject({ template: "{{ question }}", maxOutputTokens: 300 });
  expect(source.definition.steps[0]?.instructions).not.toContain("not for the model");
  expect(source.samples.inputs.textInputs).toMatchObject({ context: "School." });
});

test("a promptfoo configuration becomes one file per prompt, with its tests, and samples from tests without expectations", () => {
  const text = `description: Translate
prompts:
  - "Translate {{text}} to {{language}}"
  - |
    [{"role": "system", "content": "Translate."}, {"role": "user", "content": "{{text}} in {{language}}"}]
providers: ["openai:gpt-4.1-mini"]
tests:
  - vars: { text: Hello, language: French }
    description: Greets
    assert:
      - { type: contains, value: Bonjour }
      - { type: not-contains, value: Hello }
      - { type: regex, value: "^B" }
      - { type: llm-rubric, value: It is French. }
      - { type: latency, threshold: 1000 }
  - vars: { text: Bye, language: German }
    assert: [{ type: contains-all, value: [Auf, Wiedersehen] }]
  - vars: { text: Yes, language: Dutch }
    assert: [{ type: cost, threshold: 1 }]
`;
  const files = made("promptfoo", text, "promptfooconfig.yaml");
  expect(files.map(({ name }) => name)).toEqual(["translate.prompt.md", "promptfooconfig-2.prompt.md"]);
  for (const file of files) {
    expect(faultsOf(file.text)).toEqual([]);
    expect(parseOne(file.text)).toMatchObject({ model: "openai/gpt-4.1-mini" });
    const { samples, tests } = parseOne(file.text);
    expect(samples.inputs.textInputs).toEqual({ text: "Yes", language: "Dutch" });
    const expected = tests.map(({ name, textInputs, expect: all }) => [name, textInputs["text"], all]);
    expect(expected.slice(-2)).toEqual([
      ["Greets", "Hello", { contains: ["Bonjour"], notContains: ["Hello"], matches: "^B", judge: ["It is French."] }],
      ["Test 2", "Bye", { contains: ["Auf", "Wiedersehen"] }],
    ]);
    expect(file.notes.filter((note) => note.startsWith("A test assertion"))).toHaveLength(2);
  }
});

test("a Mustache template becomes Liquid, and anything without a counterpart is noted", () => {
  const text =
    "Hi {{{name}}}{{! never }}{{#vip}}, dear guest{{/vip}}{{^vip}}.{{/vip}}{{> footer}} {{user.city}}{{#tags}}{{.}}{{/tags}}";
  const { source, notes } = importOne("mustache", text, "hi.mustache");
  expect(source.definition.steps[0]?.template).toBe(
    'Hi {{ name }}{% if vip != blank %}, dear guest{% endif %}{% if vip == blank %}.{% endif %} {{ input["user.city"] }}{% for item in tags %}{{ item }}{% endfor %}',
  );
  expect(notes.join("\n")).toContain("{{> footer}} was left out of the template: partials are not supported.");
});

describe("a template of another language", () => {
  test("keeps the content of a Jinja raw block unchanged", () => {
    const text = "{% raw %}{{ a.b }} {# c #} {% macro %}{% endraw %} {{ a.b }}{# c #}";
    expect(convertTemplate(text, "jinja")).toEqual({
      text: '{% raw %}{{ a.b }} {# c #} {% macro %}{% endraw %} {{ input["a.b"] }}',
      notes: [],
    });
  });

  test("does not turn members of loop items, or helpers, into inputs", () => {
    const { text, notes } = convertTemplate('{{#each rows}}{{this.name}}{{/each}}{{date format="y"}}', "mustache");
    expect(text).toBe("{% for item in rows %}{% endfor %}");
    expect(notes).toEqual([
      "{{this.name}} was left out of the template: list items are text and have no members.",
      '{{date format="y"}} was left out of the template: helpers are not supported.',
    ]);
  });

  test("with thousands of blanks after an opening is read quickly", () => {
    for (const opening of ["{{", "{{{", "{{~", "{{a", "{{a|"])
      for (const syntax of ["mustache", "jinja"] as const) {
        const text = `${opening}${" ".repeat(50_000)}`;
        expect(convertTemplate(text, syntax)).toEqual({ text, notes: [] });
      }
  });
});

test.each<[ForeignFormat, string]>([
  ["openai", "not JSON"],
  ["langfuse", "{}"],
  ["promptfoo", "prompts: []"],
  ["prompty", "---\nmodel: [\n---\nx"],
])("a file that cannot be read as %s is rejected with the reason", (format, text) => {
  expect(() => made(format, text)).toThrow(`my-file.json cannot be read in the ${format} format: `);
});

test.each<[ForeignFormat, string, string]>([
  ["openai", '{"error": {"message": "No such prompt"}}', 'it contains a server\'s error, "No such prompt"'],
  ["langfuse", '{"message": "Not found", "error": "NotFound"}', 'it contains a server\'s error, "Not found"'],
  ["openai", '{"messages": [{"role": "assistant", "content": "Hi"}]}', "it has no prompt text"],
  ["dotprompt", `---\nx: ${"[".repeat(5_000)}\n---\nHi`, "it is nested too deeply"],
])("a %s file without a prompt is rejected with what it contains", (format, text, reason) => {
  expect(() => made(format, text)).toThrow(`${reason}.`);
});

test("a promptfoo configuration keeps as many cases as a file may have, with the values that the prompt uses", () => {
  const cases = Array.from({ length: 120 }, (_, at) => ({
    vars: { topic: `t${at}`, note: "x" },
    assert: [{ type: "contains", value: "t" }],
  }));
  const samples = Array.from({ length: 12 }, (_, at) => ({ vars: { topic: `s${at}` } }));
  const config = { prompts: ["On {{ topic | upper | default('tea') }}"], tests: [...cases, ...samples] };
  const { source, notes } = importOne("promptfoo", JSON.stringify(config));
  expect(source.definition.steps[0]?.template).toBe("On {{ topic | upcase | default: 'tea' }}");
  const tests = source.tests.filter(({ name }) => name.startsWith("Test"));
  expect([tests.length, source.tests.length]).toEqual([100, 110]); // samples are run as well
  expect(tests[0]?.textInputs).toEqual({ topic: "t0" });
  expect(notes).toEqual(
    expect.arrayContaining([
      "20 more tests were left out: a file can have at most 100.",
      "2 more samples were left out: a file can have at most 10.",
      "Values for note were left out: the prompt does not use them.",
    ]),
  );
});

test("a promptfoo prompt in a separate file is noted with the file's name", () => {
  const [file] = made("promptfoo", "prompts: [prompts/tea.txt]");
  expect(file?.notes).toContain("The text of the prompt is in prompts/tea.txt. Copy it below.");
});

test("a Mustache template with thousands of sections is read quickly", () => {
  const sections = Array.from({ length: 3_000 }, (_, at) => `{{#s${at}}}`).join("");
  const { text } = convertTemplate(`${sections}{{#list}}{{.}}{{/list}}`, "mustache");
  expect(text.match(/{% if s/g)).toHaveLength(3_000);
  expect(text.endsWith("{% for item in list %}{{ item }}{% endfor %}")).toBe(true);
});

describe("a file of another tool given to publish", () => {
  test.each<[ForeignFormat, string]>([
    ["openai", OPENAI],
    ["langfuse", '{"name":"x","type":"text","prompt":"Hi {{a}}","config":{}}'],
    ["dotprompt", "---\nmodel: googleai/gemini-2.5-flash\ninput: {}\n---\nHi {{a}}"],
    ["prompty", "---\nname: x\nmodel: {}\n---\nsystem:\nHi"],
    ["promptfoo", "prompts: [x]\nproviders: [y]\n"],
    ["mustache", "Hi {{name}}"],
  ])("is recognized as %s, and the fault suggests the import command", (format, text) => {
    expect(recognizeFormat(text)).toBe(format);
    const [fault, ...others] = faultsOf(text);
    expect(others).toEqual([]);
    expect(fault).toMatchObject({
      code: "FILE_SYNTAX",
      message: expect.stringContaining(`promptd prompt import --from ${format}`),
    });
  });

  test("but a prompt file, or text of an unknown format, is not", () => {
    expect(importHint("---\npromptd: 1\nmodel: x\n---\nHi {{a}}")).toBeNull();
    expect(importHint('{"promptd":1,"prompts":[]}')).toBeNull();
    expect(importHint("Just words.")).toBeNull();
  });
});
