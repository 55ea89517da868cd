/** Checks JSON that a text model returns against the author's schema. */
import { z } from "zod";
import { isPlainObject, parseJson, type JsonObject } from "../../platform/json.ts";
import { DeadlineError, runWithin } from "../../platform/resilience/deadline.ts";
import { reasonOf } from "../../platform/reason-of.ts";

/** Each schema is compiled once: the object lives as long as its prompt version is cached. */
const compiled = new WeakMap<JsonObject, z.ZodType>();

function compile(schema: JsonObject): z.ZodType {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made = z.fromJSONSchema(schema);
  compiled.set(schema, made);
  return made;
}

/** Why answers cannot be checked against this schema; null: they can. */
export function schemaFault(schema: JsonObject): string | null {
  const unfit = findUnfit(schema, "schema");
  if (unfit !== null) return unfit;
  if (countChecks(schema) > CHECKS_MAX) return TOO_MANY_CHECKS;
  try {
    compile(schema);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

const EXPRESSIONS = ["pattern", "patternProperties"];
const NAMED_SCHEMAS = ["properties", "$defs", "definitions"];
const SCHEMAS =
  "items prefixItems additionalItems additionalProperties contains propertyNames not allOf anyOf oneOf".split(" ");

const isFilled = (value: unknown) => Array.isArray(value) && value.length > 0;

/** What each keyword must hold. The compiler misreads other values, or fails with a message about its own internals. */
const FORMS: readonly (readonly [keywords: string, fits: (value: unknown) => boolean, expected: string])[] = [
  [NAMED_SCHEMAS.join(" "), isPlainObject, "a map of schemas"],
  ["allOf anyOf oneOf prefixItems", isFilled, "a list of schemas"],
  ["enum", isFilled, "a list of values"],
  ["required", (value) => Array.isArray(value) && value.every((name) => typeof name === "string"), "a list of names"],
  [
    "minLength maxLength minItems maxItems",
    (value) => Number.isInteger(value) && Number(value) >= 0,
    "a whole number, 0 or greater",
  ],
  ["minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", (value) => typeof value === "number", "a number"],
];

/** Finds the first part that is not a schema, or has a regular expression: that would run on model output and could block the process. */
function findUnfit(schema: unknown, path: string): string | null {
  if (typeof schema === "boolean") return null;
  if (!isPlainObject(schema)) return `${path} must be a schema, such as { type: string }`;
  const members = schema as JsonObject;
  const expression = EXPRESSIONS.find((name) => Object.hasOwn(members, name));
  if (expression !== undefined)
    return `${path}.${expression} is a regular expression, which can take minutes on a short text. Use enum, format, minLength, or maxLength, or describe the text`;
  for (const [keywords, fits, expected] of FORMS) {
    const unfit = keywords.split(" ").find((name) => Object.hasOwn(members, name) && !fits(members[name]));
    if (unfit !== undefined) return `${path}.${unfit} must be ${expected}`;
  }
  for (const [name, inner] of schemasIn(members)) {
    const found = findUnfit(inner, `${path}.${name}`);
    if (found !== null) return found;
  }
  return null;
}

/** The schemas directly inside a schema, with their paths. Everything else in it is data, where names have no meaning. */
function schemasIn(schema: JsonObject): [path: string, schema: unknown][] {
  return Object.entries(schema).flatMap(([name, value]): [string, unknown][] => {
    const isNamed = NAMED_SCHEMAS.includes(name);
    if (!isNamed && !SCHEMAS.includes(name)) return [];
    if (!isNamed && !Array.isArray(value)) return [[name, value]];
    return Object.entries(value as object).map(([key, inner]): [string, unknown] => [`${name}.${key}`, inner]);
  });
}

/**
 * How many schemas a value may have to be checked against: a few lines of references, each to a schema with two
 * references, are endless work. The largest schema without references that fits in a prompt file has about 1,500.
 */
const CHECKS_MAX = 10_000;
const TOO_MANY_CHECKS = `schema expands to more than ${CHECKS_MAX.toLocaleString("en")} schemas when its references are followed. Use fewer references, or reference smaller schemas`;

/** How many schemas a schema expands to. A recursive schema counts once: the answer decides how deep it goes. */
function countChecks(root: JsonObject): number {
  const counts = new Map<unknown, number>();
  const count = (schema: unknown): number => {
    const known = counts.get(schema);
    if (known !== undefined) return known;
    if (!isPlainObject(schema)) return 1;
    counts.set(schema, 1);
    const members = schema as JsonObject;
    const inner = schemasIn(members).filter(([path]) => !/^(\$defs|definitions)\./.test(path));
    const target = typeof members["$ref"] === "string" ? targetOf(root, members["$ref"]) : undefined;
    const all = [...inner.map(([, one]) => one), ...(target === undefined ? [] : [target])];
    const sum = all.reduce((total: number, one) => total + count(one), 1);
    counts.set(schema, sum);
    return sum;
  };
  return count(root);
}

/** Resolves a reference such as `#/$defs/one`. Undefined: nothing there, which the compiler reports. */
function targetOf(root: JsonObject, reference: string): unknown {
  const names = reference.split("/").slice(1);
  return names.reduce((schema: unknown, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    return typeof schema === "object" && schema !== null ? (schema as JsonObject)[key] : undefined;
  }, root);
}

/** Models that are only prompted for JSON often wrap it in a Markdown code fence. */
const FENCED = /^```(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?```$/;

/** Returns the answer's JSON as text if it matches the schema, otherwise the problem, for the model; it may quote the model. */
export function readJsonAnswer(
  schema: JsonObject,
  answer: string,
): { readonly kind: "fits"; readonly text: string } | { readonly kind: "unfit"; readonly problem: string } {
  const trimmed = answer.trim();
  const text = FENCED.exec(trimmed)?.[1]?.trim() ?? trimmed;
  const value = parseJson(text);
  if (value === undefined) return { kind: "unfit", problem: "it is not JSON" };
  const checked = check(schema, value);
  if (checked === null) return { kind: "unfit", problem: "it is too deeply nested or too long to check" };
  if (checked.success) return { kind: "fits", text };
  const problems = checked.error.issues.slice(0, PROBLEMS_MAX).map(({ path, message }) => {
    const name = path.map(String).join(".");
    return name === "" ? message : `${name}: ${message}`;
  });
  return { kind: "unfit", problem: problems.join("; ") };
}

const PROBLEMS_MAX = 5;

/**
 * A usual answer takes a millisecond. For an answer with a few hundred levels and a schema that refers to itself twice,
 * the problems are copied at each level: 19 seconds and 4 GB (2026-11-28), during which the process does nothing else.
 */
const CHECK_MS_MAX = 250;

/** Null: the check runs out of stack or time, because of the value itself or its problems in a recursive schema. */
function check(schema: JsonObject, value: unknown): z.ZodSafeParseResult<unknown> | null {
  const compiledSchema = compile(schema);
  try {
    return runWithin(CHECK_MS_MAX, () => compiledSchema.safeParse(value));
  } catch (error) {
    if (error instanceof RangeError || error instanceof DeadlineError) return null;
    throw error;
  }
}
