import { z } from "zod";
import { describeType, quoteText } from "../printable-text.ts";
import { REQUEST_LIMITS } from "./request-limits.ts";
import type { CreateRunBody, ImageInput } from "../runs.ts";
import { defineField, report, textFault, uuidField, type CheckPayload, type Fault } from "./request-fields.ts";
import { textRecordField } from "./text-record-field.ts";

const IMAGE_INPUT_SCHEMA = {
  oneOf: [
    {
      type: "object",
      properties: { type: { const: "url" }, url: { type: "string", format: "uri", maxLength: 2048 } },
      required: ["type", "url"],
    },
    {
      type: "object",
      properties: { type: { const: "base64" }, base64: { type: "string", contentEncoding: "base64" } },
      required: ["type", "base64"],
    },
  ],
};

export const IMAGE_INPUTS_SCHEMA = {
  type: ["array", "null"],
  items: IMAGE_INPUT_SCHEMA,
  maxItems: REQUEST_LIMITS.imagesMax,
};

/** Checks only the form: pictures and addresses are checked when images are read. Extra members are dropped. */
const imageInputsField = defineField<readonly ImageInput[]>(IMAGE_INPUTS_SCHEMA, (payload) => {
  const given = payload.value ?? [];
  if (!Array.isArray(given)) {
    const message = `imageInputs must be an array, got ${describeType(given)}.`;
    report(payload, { code: "invalid_type", message });
    return;
  }
  const { imagesMax } = REQUEST_LIMITS;
  if (given.length > imagesMax) {
    const message = `imageInputs has ${given.length} images; at most ${imagesMax} are accepted.`;
    report(payload, { code: "too_many", message });
    return;
  }
  payload.value = given.map((image: unknown, index) => readImage(payload, image, index));
}).prefault([]);

function readImage(payload: CheckPayload, image: unknown, index: number): ImageInput | null {
  const name = `Image ${index + 1}`;
  if (typeof image !== "object" || image === null || Array.isArray(image)) {
    const message = `${name} must be an object with a type, got ${describeType(image)}.`;
    report(payload, { code: "invalid_type", message, path: [index] });
    return null;
  }
  const type: unknown = Object.hasOwn(image, "type") && "type" in image ? image.type : undefined;
  if (type !== "url" && type !== "base64") {
    const message = `${name} ${describeImageType(type)}; supported types are "url" and "base64".`;
    report(payload, { code: "unsupported_image_type", message, path: [index, "type"] });
    return null;
  }
  const content: unknown = Object.entries(image).find(([key]) => key === type)?.[1];
  const fault = imageContentFault(`${name}: ${type}`, content);
  if (fault !== null) report(payload, { ...fault, path: [index, type] });
  if (typeof content !== "string") return null;
  return type === "url" ? { type, url: content } : { type, base64: content };
}

function describeImageType(type: unknown): string {
  if (typeof type === "string") return `has the type ${quoteText(type)}`;
  return type === undefined ? "has no type" : `has a type that is ${describeType(type)}`;
}

function imageContentFault(what: string, content: unknown): Fault | null {
  if (content === undefined || content === null) return { code: "required", message: `${what} is required.` };
  if (typeof content === "string") return textFault(what, content);
  return { code: "invalid_type", message: `${what} must be a string, got ${describeType(content)}.` };
}

function objectError(name: string) {
  return (issue: { readonly input?: unknown }) =>
    issue.input === undefined || issue.input === null
      ? `${name} is required.`
      : `${name} must be an object, got ${describeType(issue.input)}.`;
}

export const createRunInputsSchema = z.object(
  { textInputs: textRecordField({ field: "textInputs", entry: "Text input" }), imageInputs: imageInputsField },
  { error: objectError("inputs") },
);
export const runOptionsField = textRecordField({ field: "runOptions", entry: "Run option" });

export const createRunBodySchema: z.ZodType<CreateRunBody> = z.object(
  {
    promptVersionId: uuidField("promptVersionId"),
    inputs: createRunInputsSchema,
    runOptions: runOptionsField,
  },
  { error: (issue) => `The request body must be a JSON object, got ${describeType(issue.input)}.` },
);
