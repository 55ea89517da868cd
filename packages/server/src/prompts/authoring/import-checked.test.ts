import { describe, expect, test } from "vitest";
import { catalogue } from "../../../test/prompts/prompt-fixtures.ts";
import type { ForeignFormat } from "../format/foreign-format.ts";
import { importChecked } from "./import-checked.ts";
import { validatePrompts } from "./validate-prompts.ts";

const made = (format: ForeignFormat, text: string) => importChecked({ name: "my-file", text }, format, catalogue, {});

const bodyOf = (text: string) => text.slice(text.indexOf("\n---\n") + 5).trimEnd();

const messages = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content: `Message ${at}` }));

const schema = { type: "object", properties: { code: { type: "string", pattern: "^a+$" } } };

/** What other tools support and promptd does not, in each format: none of it may make a file that cannot be published. */
const CARRIED: readonly (readonly [what: string, format: ForeignFormat, text: string, note: string, body?: string])[] =
  [
    [
      "a list that is printed",
      "mustache",
      "{{#tags}}{{.}} {{/tags}}of {{tags}}",
      "",
      '{% for item in tags %}{{ item }} {% endfor %}of {{ tags | join: ", " }}',
    ],
    [
      "an item outside a loop",
      "mustache",
      "Hi {{.}}{{name}}",
      "{{.}} was left out of the template: it works only inside a loop.",
      "Hi {{ name }}",
    ],
    [
      "an input with the name of a loop's item",
      "mustache",
      "{{item}}: {{#tags}}{{.}}{{/tags}}",
      "",
      "{{ item }}: {% for list_item in tags %}{{ list_item }}{% endfor %}",
    ],
    [
      "a list that is printed",
      "openai",
      JSON.stringify({ model: "gpt-4.1", instructions: "Of {{rules}}.", input: "{{#each rules}}{{this}}{{/each}}" }),
      "",
    ],
    [
      "a schema with a regular expression",
      "openai",
      JSON.stringify({ model: "gpt-4.1", input: "Hi", text: { format: { type: "json_schema", schema } } }),
      'pattern was left out of the schema: "^a+$"',
    ],
    [
      "more than 40 messages",
      "langfuse",
      JSON.stringify({ name: "long", type: "chat", prompt: messages(51) }),
      "The first 10 messages were left out",
      "Message 50",
    ],
    ["no name", "langfuse", JSON.stringify({ name: " ", type: "text", prompt: "Hi {{a}}" }), ""],
    [
      "the first and the last item, and a list that is printed",
      "dotprompt",
      "---\nmodel: googleai/gemini-2.5-flash\n---\n{{#each xs}}{{#if @last}}and {{/if}}{{this}}{{@first}}{{/each}} {{xs}}",
      "",
      '{% for item in xs %}{% if forloop.last != blank %}and {% endif %}{{ item }}{{ forloop.first }}{% endfor %} {{ xs | join: ", " }}',
    ],
    [
      "Jinja expressions, filters, and conditions",
      "prompty",
      "---\nname: x\n---\n{% if not tone %}No {% endif %}{% if tone is defined %}{{ tone | title }}{% endif %}{{ a if b else c }}{{ a[0] }}{{ a ~ b }} {{ a | default('x, y', true) | safe }}",
      "{{ tone | title }}: the filter title was left out because it is not supported.",
      "{% if tone == blank %}No {% endif %}{% if tone != blank %}{{ tone }}{% endif %} {{ a | default: 'x, y' }}",
    ],
    [
      "a list that is printed, and an expression",
      "promptfoo",
      JSON.stringify({
        prompts: ["{% for i in xs %}{{ i }}{% endfor %} {{ xs }} {{ x.y() }}"],
        providers: ["openai:gpt-4.1"],
      }),
      "{{ x.y() }} was left out of the template.",
      '{% for i in xs %}{{ i }}{% endfor %} {{ xs | join: ", " }}',
    ],
  ];

describe("an imported file can be published", () => {
  test.each(CARRIED.map(([what, format, ...rest]) => ({ what, format, rest })))("with $what, from $format", (given) => {
    const { format, rest } = given;
    const [text, note, body] = rest;
    const [file, ...others] = made(format, text);
    expect(others).toEqual([]);
    expect(validatePrompts(file?.text ?? "", catalogue).message).toBe("");
    expect(file?.faults).toBe("");
    expect(file?.notes.join("\n")).toContain(note);
    for (const each of file?.notes ?? []) expect(file?.text).toContain(`# - ${each.split("\n")[0] ?? ""}`);
    expect(bodyOf(file?.text ?? "")).toContain(body ?? "");
  });
});

/** Where only the author knows what was intended. */
const HANDED: readonly [ForeignFormat, string][] = [
  ["openai", JSON.stringify({ model: "gpt-4.1", input: "Hi {{#a}}{{b}}" })],
  ["langfuse", JSON.stringify({ name: "x", type: "text", prompt: "{% if %} {{a}} {% bogus %}" })],
  ["dotprompt", "---\nmodel: googleai/gemini-2.5-flash\n---\n{{#if a}}{{b}}{{/if}} {{/if}} {{#each}}{{#if a}}"],
  [
    "prompty",
    "---\nname: x\n---\n{% for k, v in xs.items() %}{{ k }}{% endfor %}{% if a == 'x' and b|length > 3 %}c{% endif %}",
  ],
  ["promptfoo", JSON.stringify({ prompts: ["{% for a in b %}{% for c in d %}{{ c }}{% endfor %}{% endfor %}"] })],
  ["mustache", "{{#open}}{{^other}}{% for %} {{name}}"],
];

describe("an imported file that its author must fix", () => {
  test.each(HANDED)(
    "from %s lists the faults that check finds, both in its comments and in the result",
    (format, text) => {
      const [file] = made(format, text);
      const { message } = validatePrompts(file?.text ?? "", catalogue);
      expect(message).not.toBe("");
      expect(file?.faults).toBe(message);
      const comments = file?.text.split("\n").filter((line) => line.startsWith("# - "));
      for (const fault of message.split("\n")) expect(comments).toContain(`# - ${fault}`);
    },
  );
});
