/** JSON Schema of a prompt file's fields, for editors: what is known there, with what is said of it here. */
import { INPUT_TYPES } from "./text-input-fields.ts";

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string, more: Schema = {}): Schema => ({ type: "string", description, ...more });
const number = (description: string, minimum: number, maximum: number): Schema => ({
  type: "number",
  description,
  minimum,
  maximum,
});
const oneOrMore = (description: string): Schema => ({
  description,
  anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
});
const texts = (description: string): Schema => ({
  type: "object",
  description,
  additionalProperties: { type: "string" },
});

/** These fields, and those of the author's own. */
const closed = (properties: Schema): Schema => ({
  properties,
  patternProperties: { "^x-": true },
  additionalProperties: false,
});

const CALL: Readonly<Record<string, Schema>> = {
  instructions: text("Sent as the model's instructions; Liquid."),
  options: texts("Run options chosen by the author."),
  maxOutputTokens: { type: "integer", minimum: 1, description: "The most tokens of the answer." },
  count: { type: "integer", minimum: 1, maximum: 4, description: "Images to make." },
  temperature: number("From 0, the likeliest words, to what the model takes.", 0, 2),
  topP: number("Share of the likeliest words that are drawn from.", 0, 1),
  seed: { type: "integer", minimum: 0, description: "The same seed gives the same text, as far as the provider can." },
  stop: oneOrMore("The answer ends before the first of these."),
  reasoningEffort: text("How much the model thinks.", {
    enum: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
  }),
  messages: {
    type: "array",
    description: "Examples before the prompt, by turns.",
    items: { type: "object", properties: { user: { type: "string" }, assistant: { type: "string" } } },
  },
  output: {
    type: "object",
    description: "JSON Schema of the answer.",
    properties: { schema: { type: "object" } },
    required: ["schema"],
  },
  webSearch: {
    description: "The model may search the web; with sources, what it found is listed below the text.",
    anyOf: [
      { type: "boolean" },
      { type: "object", properties: { sources: { type: "boolean" } }, additionalProperties: false },
    ],
  },
  fallback: {
    type: "array",
    description: "Models that answer in place of this one when it cannot, best first.",
    items: { type: "string" },
    minItems: 1,
    maxItems: 3,
  },
};

const INPUT: Readonly<Record<string, Schema>> = {
  type: text("What callers write; a text on the wire.", { enum: INPUT_TYPES }),
  label: text("Shown to callers; the key when absent."),
  description: text("Shown to callers."),
  default: { description: "What is used when the caller gives nothing; without it the input is required." },
  allowEmpty: { type: "boolean", description: "The empty text is a value." },
  maxLength: { type: "integer", minimum: 1, description: "Characters." },
  options: {
    description: "Choices: a list of names, or names with the text that is inserted.",
    anyOf: [{ type: "array", items: { type: "string" } }, texts("Name and text.")],
  },
  multiple: {
    type: "object",
    description: "How many choices, or items of a list.",
    properties: { min: { type: "integer" }, max: { type: "integer" } },
  },
  min: { type: "number", description: "The least number." },
  max: { type: "number", description: "The greatest number." },
};

const EXPECTATIONS: Readonly<Record<string, Schema>> = {
  contains: oneOrMore("Texts that must be in the output."),
  notContains: oneOrMore("Texts that must not be in it."),
  matches: text("A regular expression."),
  schema: { type: "object", description: "JSON Schema of the output." },
  shorterThan: { type: "integer", minimum: 1, description: "Characters." },
  judge: oneOrMore("Statements that a model checks."),
  judgeModel: text("The model that checks; the prompt's own when absent."),
};

const TEMPLATE = text("The prompt itself, in Liquid; in a *.prompt.md file it stands below the fields.");

const PROMPT: Readonly<Record<string, Schema>> = {
  id: text("The promptId, to publish a new version of exactly that prompt.", { format: "uuid" }),
  title: text("Shown to callers.", { maxLength: 120 }),
  slug: text("Made from the title when absent.", { pattern: "^[a-z0-9-]{1,120}$" }),
  description: text("What search finds.", { maxLength: 2_000 }),
  tags: {
    type: "array",
    description: "What search finds too.",
    items: { type: "string", maxLength: 64 },
    maxItems: 10,
  },
  model: text("A model of the catalogue, or a role."),
  inputs: {
    type: "object",
    description: "Inputs by key, in order.",
    additionalProperties: { type: ["object", "null"], ...closed(INPUT) },
  },
  images: {
    type: "array",
    description: "One slot for each image that a run must bring.",
    items: {
      type: "object",
      properties: {
        label: { type: "string" },
        description: { type: "string" },
        mask: { type: "boolean", description: "It says which part of the other images may change." },
      },
    },
  },
  ...CALL,
  steps: {
    description: "Several model calls, by their ids.",
    type: ["object", "array"],
    additionalProperties: { $ref: "#/$defs/step" },
    items: { $ref: "#/$defs/step" },
  },
  samples: {
    type: "array",
    description: "Inputs and outputs; the first is shown in search.",
    items: {
      type: "object",
      properties: { inputs: texts("By key."), images: { type: "array" }, outputs: { type: "array" } },
    },
  },
  tests: {
    type: "array",
    description: 'What "promptd prompt test" runs.',
    items: {
      type: "object",
      ...closed({
        name: { type: "string" },
        inputs: texts("By key."),
        options: texts("Run options."),
        images: { type: "array", items: { type: "string" } },
        expect: { type: "object", ...closed(EXPECTATIONS) },
      }),
    },
  },
};

const STEP = {
  model: PROMPT["model"] ?? {},
  images: {
    type: "array",
    description: "Numbers of the image slots that go with this step, from 1.",
    items: { type: "integer", minimum: 1 },
  },
  ...CALL,
};

/** Of a file in YAML; a *.prompt.md file has the same fields above its text. */
export function promptFileSchema(): Schema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A prompt of promptd",
    type: "object",
    required: ["promptd", "title", "model"],
    ...closed({
      promptd: { const: 1, description: "The format." },
      ...PROMPT,
      template: TEMPLATE,
    }),
    $defs: {
      step: {
        type: ["object", "null"],
        ...closed({ ...STEP, id: text("Its name, where steps are a list."), template: TEMPLATE }),
      },
    },
  };
}
