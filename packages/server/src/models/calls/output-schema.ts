/** JSON that a text model is to return: checked against the author's schema. */
import { z } from "zod";
import type { JsonObject } from "../catalogue/mapping.ts";

/** Compiled once per schema: the object lives as long as its prompt version in the cache. */
const compiled = new WeakMap<JsonObject, z.ZodType>();

function compile(schema: JsonObject): z.ZodType {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made = z.fromJSONSchema(schema);
  compiled.set(schema, made);
  return made;
}

/** Why this is not a schema that answers can be checked with, or null. */
export function schemaFault(schema: JsonObject): string | null {
  const expression = findExpression(schema, "schema");
  if (expression !== null)
    return `${expression} is a regular expression, and one can take minutes for a short text. Use enum, format, minLength or maxLength, or describe the text`;
  try {
    compile(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const EXPRESSIONS = ["pattern", "patternProperties"];
const NAMED_SCHEMAS = ["properties", "$defs", "definitions"];
const SCHEMAS =
  "items prefixItems additionalItems additionalProperties contains propertyNames not allOf anyOf oneOf".split(" ");

/** Path of the first regular expression: it would run on what a model writes, and hold up everything else meanwhile. */
function findExpression(schema: unknown, path: string): string | null {
  if (typeof schema !== "object" || schema === null) return null;
  const own = EXPRESSIONS.find((name) => Object.hasOwn(schema, name));
  if (own !== undefined) return `${path}.${own}`;
  for (const [name, inner] of schemasIn(schema)) {
    const found = findExpression(inner, `${path}.${name}`);
    if (found !== null) return found;
  }
  return null;
}

/** Schemas right inside of one, with their paths. What else it holds is data, where names mean nothing. */
function schemasIn(schema: object): [path: string, schema: unknown][] {
  return Object.entries(schema).flatMap(([name, value]: [string, unknown]) => {
    const isNamed = NAMED_SCHEMAS.includes(name);
    if (!isNamed && !SCHEMAS.includes(name)) return [];
    if (typeof value !== "object" || value === null) return [];
    if (!isNamed && !Array.isArray(value)) return [[name, value]];
    return Object.entries(value).map(([key, inner]): [string, unknown] => [`${name}.${key}`, inner]);
  });
}

export type ReadJson =
  | { readonly kind: "fits"; readonly text: string }
  /** `problem`: what does not fit, for the model; it may repeat the model's words. */
  | { readonly kind: "unfit"; readonly problem: string };

/** Models that were only asked for JSON often put it into a fence of Markdown. */
const FENCED = /^```(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?```$/;

/** The JSON of an answer, as text, if it fits the schema. */
export function readJsonAnswer(schema: JsonObject, answer: string): ReadJson {
  const trimmed = answer.trim();
  const text = FENCED.exec(trimmed)?.[1]?.trim() ?? trimmed;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "unfit", problem: "it is not JSON" };
  }
  const checked = compile(schema).safeParse(value);
  if (checked.success) return { kind: "fits", text };
  const problems = checked.error.issues.slice(0, PROBLEMS_MAX).map(({ path, message }) => {
    const name = path.map(String).join(".");
    return name === "" ? message : `${name}: ${message}`;
  });
  return { kind: "unfit", problem: problems.join("; ") };
}

const PROBLEMS_MAX = 5;
