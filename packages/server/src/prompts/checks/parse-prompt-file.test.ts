import { describe, expect, test } from "vitest";
import { buildConfig } from "../publishing/prompt-config.ts";
import {
  catalogue,
  codesOf,
  faultsOf,
  parseOne,
  PENCIL_PORTRAIT,
  STORY_COVER,
  TEA_POEM,
  textPrompt,
} from "../../../test/prompts/prompt-fixtures.ts";
import { parsePromptFile } from "./parse-prompt-file.ts";

const messagesOf = (file: string) => faultsOf(file).map((fault) => `${fault.field}: ${fault.message}`);

describe("the documentation's examples", () => {
  test("a text prompt with a select", () => {
    const { definition, ...prompt } = parseOne(TEA_POEM);
    expect(prompt).toMatchObject({
      promptId: null,
      title: "Tea poem",
      slug: "tea-poem",
      slugGiven: false,
      modality: "text",
    });
    expect(definition.inputs.map((input) => input.key)).toEqual(["topic", "Child's Age", "tone"]);
    expect(definition.inputs[2]).toMatchObject({
      choices: [
        { name: "calm", text: "slow and quiet" },
        { name: "bright", text: "quick and merry" },
      ],
      default: "calm",
    });
  });

  test("an image prompt with a photo", () => {
    expect(parseOne(PENCIL_PORTRAIT).definition).toMatchObject({
      images: [{ label: "Photo", description: "One well-lit face" }],
      steps: [{ id: "main", images: [0], options: { quality: "high" }, count: 1, maxOutputTokens: null }],
    });
  });

  test("a prompt in steps", () => {
    const { steps } = parseOne(STORY_COVER).definition;
    expect(steps.map(({ id, model, reads }) => [id, model, reads])).toEqual([
      ["draft", "sandbox/text", []],
      ["cover", "sandbox/image", ["draft"]],
    ]);
  });
});

describe("the form of a file", () => {
  test("CRLF, a byte order mark, and blank lines around the body make no difference", () => {
    const { line: _, text: _1, ...plain } = parseOne(TEA_POEM);
    const { line: __, text: _2, ...windows } = parseOne(`\uFEFF${TEA_POEM.replaceAll("\n", "\r\n")}\r\n\r\n`);
    expect(windows).toEqual(plain);
  });

  test("keys that look like numbers keep their order", () => {
    const { definition } = parseOne(
      textPrompt("{{ b }}{{ input['10'] }}{{ input['2'] }}", "inputs: { b: {}, '10': {}, '2': {} }"),
    );
    expect(definition.inputs.map((input) => input.key)).toEqual(["b", "10", "2"]);
  });

  test("fields that start with x- are custom fields", () => {
    expect(parseOne(textPrompt("Hello", "x-note: { anything: [1, 2] }")).title).toBe("A test");
  });

  test.each([
    ["no front matter", "Hello", "FILE_SYNTAX"],
    ["front matter without an end", "---\npromptd: 1\n", "FILE_SYNTAX"],
    ["a duplicate key", textPrompt("x", "model: sandbox/text"), "FILE_SYNTAX"],
    ["an alias", textPrompt("{{ a }}{{ b }}", "inputs: { a: &x {}, b: *x }"), "FILE_SYNTAX"],
    ["a tag", textPrompt("x", "description: !!binary aGk="), "FILE_SYNTAX"],
    ["broken YAML", textPrompt("x", "inputs: { a: "), "FILE_SYNTAX"],
    ["thousands of nested brackets", textPrompt("x", `x-a: ${"[".repeat(30_000)}`), "LIMITS"],
    ["front matter over 64 KiB", textPrompt("x", `x-a: ${"y".repeat(65_536)}`), "LIMITS"],
    ["a body over 100,000 characters", textPrompt("x".repeat(100_001)), "LIMITS"],
    ["an empty body", textPrompt("  "), "TEMPLATE_SYNTAX"],
    ["NUL in the body", textPrompt("a\0b"), "FILE_SYNTAX"],
  ])("%s is rejected", (_name, file, code) => {
    expect(codesOf(file)).toContain(code);
  });

  test.each([
    [
      "a field in another column",
      "images:\n    - label: Photo\n    description: y",
      "indentation does not match the lines it belongs to",
    ],
    [
      "a line that lost its indentation",
      "images:\n- label: Photo\n    description: y",
      "the next line is indented as part of this text",
    ],
    ["a colon in a text", "description: Photo: a room", 'in quotes: description: "Photo: a room"'],
    ["a colon before a comment", "description: Photo: a room # mine", 'in quotes: description: "Photo: a room"'],
    ["a colon in a quoted text", 'description: "Photo": a room', `in quotes: description: '"Photo": a room'`],
    ["a colon between braces", "inputs: { topic: { label: Photo: a room, maxLength: 9 } }", 'label: "Photo: a room"'],
    ["a colon in a long text", `description: Photo: ${"a".repeat(300)}`, `"Photo: ${"a".repeat(53)}…"`],
    ["a tab", "inputs:\n\ttopic: {}", "use spaces"],
  ])("%s is explained in plain words, once for its line", (_name, front, words) => {
    const messages = messagesOf(textPrompt("x", front));
    expect(messages[0]).toContain(words);
    expect(messages.join()).not.toMatch(/mapping|implicit/i);
    expect(new Set(messages).size).toBe(messages.length);
  });

  test("merge keys are ordinary keys, and therefore unknown", () => {
    expect(messagesOf(textPrompt("x", "<<: { description: y }")).join()).toContain("<<: is not a known field here");
  });
});

describe("fields", () => {
  test.each([
    [
      "a number where text belongs",
      "inputs: { a: { default: 7 } }",
      /inputs\.a\.default: must be text, got the number 7: put it in quotes/,
    ],
    ["an unknown field", "colour: x", /colour: is not a known field here. Known fields: promptd, id, title/],
    [
      "a misspelled field",
      "tgas: [x]",
      /tgas: is not a known field here. Did you mean "tags"\? Start custom fields with x-/,
    ],
    [
      "an unknown member of an input",
      "inputs: { a: { requird: true } }",
      /inputs\.a\.requird: is not a known field here/,
    ],
    ["an id that is not a UUID", "id: cat", /id: must be a UUID, got "cat"/],
    ["a slug with capitals", "slug: Cat", /slug: must be 1 to 120/],
    [
      "a long description",
      `description: ${"x".repeat(2_001)}`,
      /description: is 2,001 characters long; the limit is 2,000/,
    ],
    ["eleven tags", `tags: [${"abcdefghijk".split("").join(", ")}]`, /tags: has 11 tags; the limit is 10/],
    ["a default that is not an option", "inputs: { a: { options: [x], default: y } }", /must be one of: x/],
    ["an empty default of a select", "inputs: { a: { options: [x], default: '' } }", /no empty choice/],
    ["multiple without options", "inputs: { a: { multiple: {} } }", /needs options or type: list/],
    [
      "a comma in a name of a multiple select",
      "inputs: { a: { options: ['x,y'], multiple: {} } }",
      /a name must not contain one/,
    ],
    [
      "more choices than options",
      "inputs: { a: { options: [x], multiple: { max: 2 } } }",
      /from 1 to 1, got the number 2/,
    ],
    ["maxLength of 0", "inputs: { a: { maxLength: 0 } }", /from 1 to 100,000, got the number 0/],
    [
      "a default over maxLength",
      "inputs: { a: { maxLength: 2, default: abc } }",
      /is 3 characters long; the limit is 2/,
    ],
    ["a key with a line break", 'inputs: { "a\\nb": {} }', /control characters/],
    ["the key __proto__", "inputs: { __proto__: {} }", /this key is not allowed/],
    ["a key of 101 characters", `inputs: { ${"k".repeat(101)}: {} }`, /1 to 100 characters/],
    [
      "65 keys",
      `inputs: { ${Array.from({ length: 65 }, (_, n) => `k${n}: {}`).join(", ")} }`,
      /has 65 keys; the limit is 64/,
    ],
    ["17 image slots", `images: [${"{}, ".repeat(17)}]`, /has 17 image slots; the limit is 16/],
    ["a count of 5", "count: 5", /count: must be a whole number from 1 to 4/],
    ["a sample of an unknown input", "samples: [{ inputs: { b: x } }]", /samples\[1\]\.inputs\.b: is not an input/],
    ["a sample image that is not https", "samples: [{ images: ['http://x'] }]", /must be URLs that start with https/],
  ])("%s is a fault with an explanation", (_name, fields, message) => {
    expect(messagesOf(textPrompt("{{ a }}", fields)).join("\n")).toMatch(message);
  });

  test("promptd, title, and model are required", () => {
    expect(messagesOf("---\nslug: x\n---\nHello")).toEqual([
      "promptd: is required and must be 1: it is the version of the file format",
      "title: is required",
      "model: is required",
    ]);
  });

  test("all faults of a file are reported together, in the order of their lines", () => {
    const file = `---\npromptd: 1\ntitle: X\nmodel: acme/none\ntags: x\ninputs:\n  a: { default: 7 }\n---\n{{ a b }}\n{{ c }}\n`;
    expect(faultsOf(file).map(({ line, code }) => [line, code])).toEqual([
      [4, "MODEL"],
      [5, "FIELD"],
      [7, "FIELD"],
      [9, "TEMPLATE_SYNTAX"],
      [10, "INPUT_UNDECLARED"],
    ]);
  });
});

describe("models and steps", () => {
  const steps = (fields: string, body: string) =>
    `---\npromptd: 1\ntitle: S\nmodel: sandbox/image\n${fields}\n---\n${body}\n`;
  test.each([
    ["a model that does not exist", textPrompt("x").replace("sandbox/text", "acme/x"), "MODEL"],
    ["an option that the model does not have", textPrompt("x", "options: { quality: high }"), "MODEL"],
    ["a value that the option does not have", textPrompt("x", "options: { reasoningEffort: ultra }"), "MODEL"],
    ["images for a model that accepts none", textPrompt("x", "images: [{}]").replace("/text", "/text-free"), "MODEL"],
    ["more images than the model accepts", textPrompt("x", `images: [${"{}, ".repeat(9)}]`), "MODEL"],
    ["count with a text model", textPrompt("x", "count: 2"), "LIMITS"],
    ["maxOutputTokens over the model's", textPrompt("x", "maxOutputTokens: 5000000"), "LIMITS"],
    [
      "maxOutputTokens of an image model",
      PENCIL_PORTRAIT.replace("options:", "maxOutputTokens: 10\noptions:"),
      "LIMITS",
    ],
    ["a last step with another model", steps("steps: { a: { model: sandbox/text } }", "<!-- step: a -->\nx"), "MODEL"],
    [
      "a slot that does not exist",
      steps("images: [{}]\nsteps: { a: { images: [2] } }", "<!-- step: a -->\nx"),
      "MODEL",
    ],
    ["an image that no step uses", steps("images: [{}]\nsteps: { a: { images: [] } }", "<!-- step: a -->\nx"), "MODEL"],
    [
      "more than ten steps, also if only the body names them",
      steps("", Array.from({ length: 11 }, (_, index) => `<!-- step: a${index} -->\nx\n`).join("")),
      "LIMITS",
    ],
    ["a step that reads itself", steps("", "<!-- step: a -->\n{{ steps.a }}"), "STEP_ORDER"],
    [
      "a step that reads a later one",
      steps("steps: { a: { model: sandbox/text }, b: {} }", "<!-- step: a -->\n{{ steps.b }}\n<!-- step: b -->\nx"),
      "STEP_ORDER",
    ],
    ["a step that reads an image", steps("", "<!-- step: a -->\nx\n<!-- step: b -->\n{{ steps.a }}"), "STEP_ORDER"],
    ["a step that reads a step that does not exist", steps("", "<!-- step: a -->\n{{ steps.nope }}"), "STEP_ORDER"],
    ["text before the first step", steps("", "Hello\n<!-- step: a -->\nx"), "FILE_SYNTAX"],
    ["a duplicate step", steps("", "<!-- step: a -->\nx\n<!-- step: a -->\ny"), "FILE_SYNTAX"],
    ["a step id with capitals", steps("", "<!-- step: A -->\nx"), "FILE_SYNTAX"],
    ["a step without a part", steps("steps: { a: {}, b: {} }", "<!-- step: b -->\nx"), "FIELD"],
    ["a part without a step", steps("steps: { b: {} }", "<!-- step: a -->\ny\n<!-- step: b -->\nx"), "FIELD"],
    [
      "eleven steps",
      steps(
        `steps: { ${"abcdefghijk"
          .split("")
          .map((id) => `${id}: {}`)
          .join(", ")} }`,
        "abcdefghijk"
          .split("")
          .map((id) => `<!-- step: ${id} -->\nx`)
          .join("\n"),
      ),
      "LIMITS",
    ],
  ])("%s is rejected", (_name, file, code) => {
    expect(codesOf(file)).toContain(code);
  });

  test("steps run in the order of the body, and need no entry in the front matter", () => {
    const file = steps(
      "steps: { b: {}, a: { model: sandbox/text } }",
      "<!-- step: a -->\nx\n<!-- step: b -->\n{{ steps.a }}",
    );
    expect(parseOne(file).definition.steps.map((step) => step.id)).toEqual(["a", "b"]);
    expect(
      parseOne(steps("", "<!-- step: one -->\nx\n\n<!-- step: two -->\ny")).definition.steps.map(({ id, template }) => [
        id,
        template,
      ]),
    ).toEqual([
      ["one", "x"],
      ["two", "y"],
    ]);
  });

  test("a prompt whose run could cost more than the limit is a fault that names the price", () => {
    const file = PENCIL_PORTRAIT.replace("options:", "count: 4\noptions:");
    const parse = () => parsePromptFile(file, catalogue, { holdMaxCredits: 31 });
    expect(parse).toThrow(/^line 5, model: .*could cost 32 credits; the limit is 31/);
  });
});

describe("foreign placeholders", () => {
  test("a placeholder that Liquid cannot read becomes an input, and the change is reported", () => {
    const { definition, conversions } = parseOne(
      textPrompt("For {{Child's Age}}\nin {{ accessories/styling }}, {{ topic }}."),
    );
    expect(definition.steps[0]?.template).toBe(
      'For {{ input["Child\'s Age"] }}\nin {{ input["accessories/styling"] }}, {{ topic }}.',
    );
    expect(definition.inputs.map((input) => input.key)).toEqual(["Child's Age", "accessories/styling", "topic"]);
    expect(conversions).toEqual([
      { line: 6, from: "{{Child's Age}}", to: '{{ input["Child\'s Age"] }}' },
      { line: 7, from: "{{ accessories/styling }}", to: '{{ input["accessories/styling"] }}' },
    ]);
  });

  test("a placeholder that Liquid misreads is converted only if exactly that key is declared", () => {
    expect(parseOne(textPrompt("{{ the topic }}", "inputs: { the topic: {} }")).conversions).toHaveLength(1);
    expect(codesOf(textPrompt("{{ the topic }}"))).toEqual(["TEMPLATE_SYNTAX"]);
  });

  test("raw blocks, comments, and expressions are left alone", () => {
    const body = "{% raw %}{{Child's Age}}{% endraw %}{% comment %}{{a/b}}{% endcomment %}{{ a | append: ' x' }}";
    const { conversions, definition } = parseOne(textPrompt(body));
    expect([conversions, definition.steps[0]?.template]).toEqual([[], body]);
  });
});

describe("samples and warnings", () => {
  test("the first sample is stored in the form of a run", () => {
    const fields = "samples: [{ inputs: { a: tea }, outputs: [A poem, { type: image, data: 'https://x.org/1.png' }] }]";
    expect(parseOne(textPrompt("{{ a }}", fields)).samples).toEqual({
      inputs: { textInputs: { a: "tea" }, imageInputs: [] },
      outputs: [
        { type: "text", data: "A poem" },
        { type: "image", data: "https://x.org/1.png" },
      ],
    });
  });

  test("publishing with the sandbox's text model or a model without a key warns", () => {
    expect(parseOne(TEA_POEM).warnings.join()).toContain("its outputs show the prompt text");
    const other = catalogue.entries.find((entry) => !catalogue.isEnabled(entry.model) && entry.status === "active");
    const file = textPrompt("x").replace("sandbox/text", other?.model ?? "");
    expect(parseOne(file).warnings.join()).toContain("is not enabled on this server");
  });
});

describe("what callers see", () => {
  test("the config has no trace of the template, instructions, option texts, or steps", () => {
    for (const [file, secrets] of [
      [TEA_POEM, ["Write", "advice", "slow and quiet", "quick and merry", "main"]],
      [STORY_COVER, ["five sentences", "book cover", '"draft"', "sandbox/text", "300"]],
    ] as const) {
      const { definition, model } = parseOne(file);
      const config = JSON.stringify(buildConfig(definition, catalogue, model));
      for (const secret of secrets) expect(config).not.toContain(secret);
    }
  });
});
