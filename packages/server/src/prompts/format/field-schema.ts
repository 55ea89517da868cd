/** JSON Schema of a prompt file's fields, for editors. */
import { FIELD_LIMITS, SLUG } from "./field-limits.ts";
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

/** Allows these fields, and custom `x-` fields. */
const closed = (properties: Schema): Schema => ({
  properties,
  patternProperties: { "^x-": true },
  additionalProperties: false,
});

const CALL: Readonly<Record<string, Schema>> = {
  instructions: text("Sent as the model's instructions. A Liquid template."),
  options: texts("Run options chosen by the author."),
  maxOutputTokens: { type: "integer", minimum: 1, description: "Maximum number of tokens in the answer." },
  count: { type: "integer", minimum: 1, maximum: FIELD_LIMITS.count, description: "Number of images to make." },
  temperature: number("From 0 (the likeliest words) to the model's maximum.", 0, FIELD_LIMITS.temperature),
  topP: number("Share of the likeliest words to choose from.", 0, FIELD_LIMITS.topP),
  seed: {
    type: "integer",
    minimum: 0,
    description: "The same seed gives the same text, as far as the provider supports it.",
  },
  stop: oneOrMore("The answer ends before the first of these."),
  reasoningEffort: text("How much the model reasons before it answers.", {
    enum: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
  }),
  messages: {
    type: "array",
    description: "Example messages before the prompt, by user and assistant.",
    items: { type: "object", properties: { user: { type: "string" }, assistant: { type: "string" } } },
  },
  output: {
    type: "object",
    description: "JSON Schema of the answer.",
    properties: { schema: { type: "object" } },
    required: ["schema"],
  },
  webSearch: {
    description: "The model may search the web; with sources, the pages it found are listed below the text.",
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
    maxItems: FIELD_LIMITS.fallbacks,
  },
};

const INPUT: Readonly<Record<string, Schema>> = {
  type: text("What kind of value callers write. It is always sent as text.", { enum: INPUT_TYPES }),
  label: text("Shown to callers. Defaults to the key."),
  description: text("Shown to callers."),
  default: { description: "Used when the caller gives no value. Without a default, the input is required." },
  allowEmpty: { type: "boolean", description: "Whether empty text is a valid value." },
  maxLength: { type: "integer", minimum: 1, description: "Maximum number of characters." },
  options: {
    description: "Choices: a list of names, or a map from names to the text that is inserted.",
    anyOf: [{ type: "array", items: { type: "string" } }, texts("The text inserted for each name.")],
  },
  multiple: {
    type: "object",
    description: "How many choices or list items a value must have.",
    properties: { min: { type: "integer" }, max: { type: "integer" } },
  },
  min: { type: "number", description: "The smallest number allowed." },
  max: { type: "number", description: "The largest number allowed." },
};

const EXPECTATIONS: Readonly<Record<string, Schema>> = {
  contains: oneOrMore("Texts that the output must contain."),
  notContains: oneOrMore("Texts that the output must not contain."),
  matches: text("A regular expression that the output must match."),
  schema: { type: "object", description: "A JSON Schema that the output must match." },
  shorterThan: { type: "integer", minimum: 1, description: "The output must have fewer characters than this." },
  judge: oneOrMore("Statements about the output that a model checks."),
  judgeModel: text("The model that checks them. Defaults to the prompt's model."),
};

const TEMPLATE = text("The prompt itself, in Liquid. In a *.prompt.md file it goes below the fields.");

const PROMPT: Readonly<Record<string, Schema>> = {
  id: text("The promptId of the prompt that gets a new version.", { format: "uuid" }),
  title: text("Shown to callers.", { maxLength: FIELD_LIMITS.titleLength }),
  slug: text("Derived from the title if omitted.", { pattern: SLUG.source }),
  description: text("Search finds the prompt by this text.", { maxLength: FIELD_LIMITS.descriptionLength }),
  tags: {
    type: "array",
    description: "Search finds the prompt by these too.",
    items: { type: "string", maxLength: FIELD_LIMITS.tagLength },
    maxItems: FIELD_LIMITS.tags,
  },
  model: text("A model from the catalogue, or a role."),
  inputs: {
    type: "object",
    description: "Inputs by key, in order.",
    additionalProperties: { type: ["object", "null"], ...closed(INPUT) },
  },
  images: {
    type: "array",
    description: "One slot for each image that a run must provide.",
    items: {
      type: "object",
      properties: {
        label: { type: "string" },
        description: { type: "string" },
        mask: {
          type: "boolean",
          description: "Whether this image is a mask, which shows what part of the other images may change.",
        },
      },
    },
  },
  ...CALL,
  steps: {
    description: "Several model calls, by step id.",
    type: ["object", "array"],
    additionalProperties: { $ref: "#/$defs/step" },
    items: { $ref: "#/$defs/step" },
  },
  samples: {
    type: "array",
    description: "Example inputs and outputs. Search shows the first one.",
    items: {
      type: "object",
      properties: { inputs: texts("By key."), images: { type: "array" }, outputs: { type: "array" } },
    },
  },
  tests: {
    type: "array",
    description: 'Tests for "promptd prompt test" to run.',
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
    description: "Numbers of the image slots sent with this step, starting at 1.",
    items: { type: "integer", minimum: 1 },
  },
  ...CALL,
};

/** The schema of a YAML file; a *.prompt.md file has the same fields above its text. */
export function promptFileSchema(): Schema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A prompt file for promptd",
    type: "object",
    required: ["promptd", "title", "model"],
    ...closed({
      promptd: { const: 1, description: "Version of the file format." },
      ...PROMPT,
      template: TEMPLATE,
    }),
    $defs: {
      step: {
        type: ["object", "null"],
        ...closed({ ...STEP, id: text("The step's id, if steps is a list."), template: TEMPLATE }),
      },
    },
  };
}
