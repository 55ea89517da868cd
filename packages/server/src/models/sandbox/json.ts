/** A value that fits a JSON Schema, the same for the same schema: what the sandbox answers where JSON is asked for. */
import { isPlainObject, type PlainObject } from "../../platform/json.ts";

const DEPTH_MAX = 8;

export function sampleOf(schema: PlainObject, root: PlainObject = schema, depth = 0): unknown {
  if (depth > DEPTH_MAX) return null;
  const { $ref, enum: values, anyOf, oneOf, allOf } = schema;
  if ("const" in schema) return schema["const"];
  if (Array.isArray(values)) return values[0];
  if (typeof $ref === "string") return sampleOf(resolve(root, $ref), root, depth + 1);
  const [choice] = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list : []));
  if (isPlainObject(choice)) return sampleOf(choice, root, depth + 1);
  const type: unknown = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  if (type === "object") return sampleObject(schema, root, depth);
  if (type === "array") return sampleArray(schema, root, depth);
  if (type === "boolean") return true;
  if (type === "null") return null;
  if (type === "string") return sampleText(schema);
  return Number(schema["minimum"] ?? Number(schema["exclusiveMinimum"] ?? 0) + 1);
}

function sampleObject({ properties }: PlainObject, root: PlainObject, depth: number): Record<string, unknown> {
  const members = isPlainObject(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(
    members.map(([key, member]) => [key, isPlainObject(member) ? sampleOf(member, root, depth + 1) : null]),
  );
}

function sampleArray({ items, minItems }: PlainObject, root: PlainObject, depth: number): unknown[] {
  const length = Math.max(1, Number(minItems ?? 1));
  return Array.from({ length }, () => (isPlainObject(items) ? sampleOf(items, root, depth + 1) : null));
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00",
  email: "someone@example.org",
  uri: "https://example.org/",
  uuid: "00000000-0000-7000-8000-000000000000",
};

function sampleText({ format, minLength, maxLength }: PlainObject): string {
  const text = FORMATS[String(format)] ?? "sandbox".padEnd(Number(minLength ?? 0), ".");
  return maxLength === undefined ? text : text.slice(0, Number(maxLength));
}

/** Such as `#/$defs/item`. */
function resolve(root: PlainObject, reference: string): PlainObject {
  const names = reference.split("/").slice(1);
  const found = names.reduce<unknown>((schema, name) => (isPlainObject(schema) ? schema[name] : undefined), root);
  return isPlainObject(found) ? found : {};
}
