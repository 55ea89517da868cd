import type { PromptConfig, TextInputField } from "@promptd/contract";
import { nameArguments, type ArgumentTarget } from "./argument-names.ts";

export interface ArgumentsSchema {
  readonly [keyword: string]: unknown;
  readonly type: "object";
}

/** The JSON Schema of a prompt tool's arguments: the prompt's inputs, images, and run options. */
export function argumentsSchema(config: PromptConfig): ArgumentsSchema {
  const named = [...nameArguments(config)];
  return {
    type: "object",
    properties: Object.fromEntries(named.map(([name, target]) => [name, schemaOf(target)])),
    required: named.filter(([, target]) => isRequired(target)).map(([name]) => name),
    additionalProperties: false,
  };
}

function isRequired(target: ArgumentTarget): boolean {
  return target.kind === "image" || (target.kind === "text" && target.field.required);
}

function schemaOf(target: ArgumentTarget): Record<string, unknown> {
  if (target.kind === "text") return { ...typeOf(target.field), ...aboutText(target.key, target.field) };
  if (target.kind === "image") {
    const form = "An image: an https URL, a data URL, or Base64 of a PNG, JPEG, WebP, or GIF.";
    return { type: "string", title: target.label, description: join([target.description, form]) };
  }
  return {
    type: "string",
    enum: [...target.options],
    description: "A run option of the model.",
    ...(target.default === null ? {} : { default: target.default }),
  };
}

function aboutText(key: string, field: TextInputField): Record<string, unknown> {
  const about = join([field.label === key ? "" : field.label, field.description]);
  return {
    title: key,
    ...(about === "" ? {} : { description: about }),
    ...(field.default === null ? {} : { default: field.default }),
  };
}

/** Values become strings when the run is created, so numbers and booleans are accepted as they are. */
function typeOf(field: TextInputField): Record<string, unknown> {
  const { options, multiple, maxLength } = field;
  if (options !== null && multiple === null) return { type: "string", enum: [...options] };
  if (multiple !== null) {
    const items = options === null ? { type: ["string", "number"] } : { type: "string", enum: [...options] };
    return { type: "array", items, minItems: multiple.min, maxItems: multiple.max };
  }
  if (field.type === "number") return { type: "number", ...boundsOf(field) };
  if (field.type === "boolean") return { type: "boolean" };
  if (field.type === "date") return { type: "string", format: "date" };
  if (field.type === "list") return { type: "array", items: { type: ["string", "number"] } };
  return {
    type: "string",
    ...(field.required && !field.allowEmpty ? { minLength: 1 } : {}),
    ...(maxLength === null ? {} : { maxLength }),
  };
}

function boundsOf({ min, max }: TextInputField): Record<string, unknown> {
  return { ...(min === undefined ? {} : { minimum: min }), ...(max === undefined ? {} : { maximum: max }) };
}

function join(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(". ");
}
