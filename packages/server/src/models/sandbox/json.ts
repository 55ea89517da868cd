/** A value that matches a JSON Schema, always the same for the same schema: the sandbox's answer when JSON is requested. */
import { isPlainObject, type PlainObject } from "../../platform/json.ts";

const DEPTH_MAX = 8;
/**
 * A one-line schema may require more than fits in memory. Beyond this limit, the value no longer matches the schema,
 * just as a model's answer might not.
 */
const VALUES_MAX = 2_000;
const TEXT_LENGTH_MAX = 10_000;

export function sampleOf(schema: PlainObject): unknown {
  return new Sampler(schema).sample(schema, 0);
}

class Sampler {
  readonly #root: PlainObject;
  #left = VALUES_MAX;

  constructor(root: PlainObject) {
    this.#root = root;
  }

  sample(schema: PlainObject, depth: number): unknown {
    this.#left -= 1;
    if (depth > DEPTH_MAX || this.#left < 0) return null;
    const { $ref, enum: values, anyOf, oneOf, allOf } = schema;
    if ("const" in schema) return schema["const"];
    if (Array.isArray(values)) return values[0];
    if (typeof $ref === "string") return this.sample(resolve(this.#root, $ref), depth + 1);
    const [choice] = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list : []));
    if (isPlainObject(choice)) return this.sample(choice, depth + 1);
    const type: unknown = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
    if (type === "object") return this.#object(schema, depth);
    if (type === "array") return this.#array(schema, depth);
    if (type === "boolean") return true;
    if (type === "null") return null;
    if (type === "string") return sampleText(schema);
    return Number(schema["minimum"] ?? Number(schema["exclusiveMinimum"] ?? 0) + 1);
  }

  #object({ properties }: PlainObject, depth: number): Record<string, unknown> {
    const members = isPlainObject(properties) ? Object.entries(properties) : [];
    return Object.fromEntries(members.map(([key, member]) => [key, this.#member(member, depth)]));
  }

  #array({ items, minItems }: PlainObject, depth: number): unknown[] {
    const length = Math.max(1, Math.min(Number(minItems ?? 1), this.#left));
    return Array.from({ length }, () => this.#member(items, depth));
  }

  #member(schema: unknown, depth: number): unknown {
    return isPlainObject(schema) ? this.sample(schema, depth + 1) : null;
  }
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
  const length = Math.min(Number(minLength ?? 0), TEXT_LENGTH_MAX);
  const text = FORMATS[String(format)] ?? "sandbox".padEnd(length, ".");
  return maxLength === undefined ? text : text.slice(0, Number(maxLength));
}

/** Such as `#/$defs/item`. */
function resolve(root: PlainObject, reference: string): PlainObject {
  const names = reference.split("/").slice(1);
  const found = names.reduce<unknown>((schema, name) => (isPlainObject(schema) ? schema[name] : undefined), root);
  return isPlainObject(found) ? found : {};
}
