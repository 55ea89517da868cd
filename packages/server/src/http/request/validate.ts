import { ISSUES_MAX, printable, type EndpointName, type ImageInput, type Issue } from "@promptd/contract";
import { CREATE_RUN_MEMBERS, endpointSchemas, toIssue } from "@promptd/contract/schemas";
import { invalid, Problem } from "../../platform/problem.ts";
import type { EndpointInput } from "../endpoint.ts";
import type { QueryParameter } from "./query.ts";

export interface RawInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: readonly QueryParameter[];
  /** Parsed JSON; undefined where the endpoint takes no body. */
  readonly body: unknown;
}

/** Form of image inputs beyond their types, reported together with the other problems of the same stage. */
export type CheckImages = (images: readonly ImageInput[]) => readonly Issue[];

/**
 * The shape stage: everything that can be decided without the database, all problems at once.
 * `ignore` is told the name of every part that has no effect.
 * @throws Problem VALIDATION_ERROR with at most 20 issues.
 */
export function validateInput<N extends EndpointName>(
  name: N,
  raw: RawInput,
  options: { readonly checkImages: CheckImages | null; readonly ignore: (name: string) => void },
): EndpointInput<N> {
  const schemas = endpointSchemas[name];
  const issues: Issue[] = [];
  const params = isEmpty(schemas.params) ? { value: {} } : parse("path", schemas.params, raw.params, issues);
  const known = raw.query.length === 0 ? {} : readKnown(raw.query, schemas.query.shape, options.ignore, issues);
  const query = isEmpty(schemas.query) ? {} : parse("query", schemas.query, known, issues).value;
  const body = schemas.body === null ? { value: undefined } : parse("body", schemas.body, raw.body, issues);
  if (schemas.body !== null) {
    nameIgnoredMembers(raw.body, options.ignore);
    if (options.checkImages !== null) issues.push(...imageIssues(raw.body, issues, options.checkImages));
  }
  if (issues.length > 0) throw invalid(withoutRepeats(issues).slice(0, ISSUES_MAX));
  // The schemas of the table are checked against EndpointShapes[N]; TypeScript cannot follow that through the index.
  return { params: params.value, query, body: body.value } as EndpointInput<N>;
}

/** Most endpoints take no query or no path parameter; there is nothing to parse then. */
function isEmpty(schema: { readonly shape: object }): boolean {
  return Object.keys(schema.shape).length === 0;
}

interface Schema {
  safeParse(
    value: unknown,
    context: { reportInput: boolean },
  ): { success: true; data: unknown } | { success: false; error: { issues: readonly Parameters<typeof toIssue>[1][] } };
}

function parse(root: "body" | "query" | "path", schema: Schema, value: unknown, issues: Issue[]): { value: unknown } {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { value: result.data };
  for (const issue of result.error.issues) issues.push(toIssue(root, issue));
  return { value: undefined };
}

/** The known parameters, each given once; the others are named as ignored. */
function readKnown(
  query: readonly QueryParameter[],
  shape: object,
  ignore: (name: string) => void,
  issues: Issue[],
): Record<string, string> {
  const known: Record<string, string> = {};
  for (const { name, value, raw } of query) {
    if (name === null || value === null) {
      const shown = name ?? printable(raw.split("=")[0] ?? "");
      const message = `The query parameter ${printable(shown)} is not valid percent-encoded UTF-8.`;
      issues.push({ path: ["query", shown], code: "invalid_text", message });
    } else if (!Object.hasOwn(shape, name)) ignore(name);
    else if (Object.hasOwn(known, name)) {
      issues.push({ path: ["query", name], code: "conflict", message: `${name} was given more than once.` });
    } else known[name] = value;
  }
  return known;
}

function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function nameIgnoredMembers(body: unknown, ignore: (name: string) => void): void {
  if (!isObject(body)) return;
  const listed: readonly string[] = CREATE_RUN_MEMBERS.body;
  for (const key of Object.keys(body)) if (!listed.includes(key)) ignore(key);
  const inputs = member(body, "inputs");
  if (!isObject(inputs)) return;
  const listedInputs: readonly string[] = CREATE_RUN_MEMBERS.inputs;
  for (const key of Object.keys(inputs)) if (!listedInputs.includes(key)) ignore(`inputs.${key}`);
}

/** Issues about images have the path `body, inputs, imageInputs` and, unless they are about all images, an index. */
const imageIndex = ({ path }: Issue) => path[3] ?? "all";

/**
 * Checks images also when another part of the body is at fault, so that all its problems come at once. Where the schema
 * has refused an image already, or all of them, its word is enough.
 */
function imageIssues(body: unknown, issues: readonly Issue[], check: CheckImages): readonly Issue[] {
  const images = member(member(body, "inputs"), "imageInputs");
  const refused = new Set(issues.filter(({ path }) => path[2] === "imageInputs").map(imageIndex));
  if (!Array.isArray(images) || images.length === 0 || refused.has("all")) return [];
  return check(images).filter((issue) => !refused.has(imageIndex(issue)));
}

/** An undecodable known parameter is missing as well; one sentence about it is enough. */
function withoutRepeats(issues: readonly Issue[]): readonly Issue[] {
  const undecodable = new Set(issues.filter(({ code }) => code === "invalid_text").map(({ path }) => path.join(" ")));
  return issues.filter(({ code, path }) => code !== "required" || !undecodable.has(path.join(" ")));
}

const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

/** `Idempotency-Key` of a create: at most one, 1 to 255 visible ASCII characters. @throws Problem BAD_REQUEST_ERROR. */
export function refuseIdempotencyKeys(keys: readonly string[]): void {
  if (keys.length > 1) {
    throw new Problem("BAD_REQUEST_ERROR", "Send the header Idempotency-Key once, not twice.");
  }
  if (keys[0] === undefined || KEY_FORM.test(keys[0])) return;
  throw new Problem("BAD_REQUEST_ERROR", "Idempotency-Key must be 1 to 255 visible ASCII characters without spaces.");
}
