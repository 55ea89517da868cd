import type { ImageInputSlot, TextInputField } from "@promptd/contract";
import { presentMembers } from "../../platform/json.ts";
import { requireEntry, type Catalogue, type CatalogueEntry } from "../../models/index.ts";
import { LIST_ITEMS_MAX } from "../text-input-rules.ts";
import type { InputField, InputType, PromptDefinition, StoredConfig } from "../prompt-definition.ts";
import { currentRunOptions, currentWebSearch } from "../inputs/run-options.ts";

/**
 * Builds what callers see of a prompt: enough for a form and a run. It copies named members only, so that template,
 * instructions, option texts, and steps cannot leak into it.
 */
export function buildConfig(definition: PromptDefinition, catalogue: Catalogue, model: string): StoredConfig {
  const entry = requireEntry(catalogue, model);
  const imageInputs = definition.images.map(({ label, description }, position): ImageInputSlot => ({
    position,
    label,
    description,
  }));
  return {
    textInputs: Object.fromEntries(
      definition.inputs.map((input, position) => [input.key, publicField(input, position)]),
    ),
    imageInputs,
    imageCount: imageInputs.length,
    model: entry.model,
    modality: entry.modality,
    runOptions: currentRunOptions(entry, definition.steps.at(-1)?.options ?? {}),
    output: outputOf(definition, entry),
    ...currentWebSearch(definition.steps, catalogue),
    inputSchema: buildInputSchema(definition.inputs, imageInputs.length),
  };
}

function outputOf({ steps }: PromptDefinition, { modality }: CatalogueEntry): StoredConfig["output"] {
  const schema = steps.at(-1)?.outputSchema;
  return schema === undefined ? { type: modality } : { type: modality, schema };
}

function publicField(input: InputField, position: number): TextInputField {
  return {
    position,
    type: input.type ?? (input.choices === null ? "text" : "select"),
    label: input.label,
    description: input.description,
    required: input.default === null,
    allowEmpty: input.allowEmpty,
    default: input.default,
    maxLength: input.maxLength,
    options: input.choices?.map((choice) => choice.name) ?? null,
    multiple: input.multiple === null ? null : { min: input.multiple.min, max: input.multiple.max },
    ...presentMembers({ min: input.min, max: input.max }),
  };
}

/** Builds the JSON Schema 2020-12 of a run's `inputs`. Extra members are allowed, since the server ignores them. */
function buildInputSchema(inputs: readonly InputField[], imageCount: number): Record<string, unknown> {
  const required = inputs.filter((input) => input.default === null).map((input) => input.key);
  const members: string[] = [];
  if (required.length > 0) members.push("textInputs");
  if (imageCount > 0) members.push("imageInputs");
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      textInputs: {
        type: "object",
        properties: Object.fromEntries(inputs.map((input) => [input.key, fieldSchema(input)])),
        required,
        additionalProperties: true,
      },
      imageInputs: { type: "array", items: IMAGE_SCHEMA, minItems: imageCount, maxItems: imageCount },
    },
    required: members,
    additionalProperties: true,
  };
}

const IMAGE_SCHEMA = {
  oneOf: [
    {
      type: "object",
      properties: { type: { const: "url" }, url: { type: "string", format: "uri" } },
      required: ["type", "url"],
    },
    {
      type: "object",
      properties: { type: { const: "base64" }, base64: { type: "string", contentEncoding: "base64" } },
      required: ["type", "base64"],
    },
  ],
};

function fieldSchema(input: InputField): Record<string, unknown> {
  // Blank text is allowed wherever it has a meaning: as a value, or as "use the default".
  const mayBeBlank = input.allowEmpty || input.default !== null;
  const names = input.choices?.map((choice) => choice.name) ?? null;
  return {
    type: "string",
    title: input.label,
    ...(input.description === "" ? {} : { description: input.description }),
    ...presentMembers({ default: input.default }),
    ...typeSchema(input, mayBeBlank),
    ...(names === null || input.multiple !== null
      ? {}
      : { enum: mayBeBlank && !names.includes("") ? [...names, ""] : names }),
    ...(mayBeBlank || input.type !== undefined ? {} : { minLength: 1, pattern: "\\S" }),
    ...presentMembers({ maxLength: input.maxLength }),
  };
}

const PATTERNS: Readonly<Record<InputType, string>> = {
  number: "-?(0|[1-9]\\d{0,14})(\\.\\d{1,10})?",
  boolean: "true|false",
  date: "\\d{4}-\\d{2}-\\d{2}",
  list: "[\\s\\S]*\\S[\\s\\S]*",
};

/** Values are sent as text; the schema describes its form. */
function typeSchema({ type, min, max, multiple }: InputField, mayBeBlank: boolean): Record<string, unknown> {
  if (type === undefined) return {};
  const blank = mayBeBlank ? "|\\s*" : "";
  const range = [min === undefined ? "" : `at least ${min}`, max === undefined ? "" : `at most ${max}`];
  const items =
    type === "list" ? `${multiple?.min ?? 1} to ${multiple?.max ?? LIST_ITEMS_MAX} items, one per line` : "";
  const comment = [...range, items].filter((part) => part !== "").join(", ");
  return {
    pattern: `^(\\s*(${PATTERNS[type]})\\s*${blank})$`,
    ...(type === "date" && !mayBeBlank ? { format: "date" } : {}),
    ...(comment === "" ? {} : { $comment: comment }),
  };
}
