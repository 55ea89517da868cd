import { ISSUES_MAX, printable, quoteText, type Issue } from "@promptd/contract";
import { toIssue, type EndpointSchemas } from "@promptd/contract/schemas";
import { z } from "zod";
import { memberOf } from "../../platform/json.ts";
import { badRequest, invalid, Problem } from "../../platform/problem.ts";
import type { CheckBody, Endpoint, EndpointInput } from "../endpoint.ts";
import type { QueryParameter } from "./query.ts";

interface RawInput {
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: readonly QueryParameter[];
  /** Parsed JSON; ignored if the endpoint has no body. */
  readonly body: unknown;
}

/** Called with the name of every part of a request that has no effect. */
type Ignore = (name: string) => void;

/** Checks the headers that the endpoint has a rule for. @throws Problem BAD_REQUEST_ERROR. */
export function validateHeaders({ headers = [] }: Endpoint, valuesOf: (name: string) => readonly string[]): void {
  for (const { name, form } of headers) {
    if (form === undefined) continue;
    const values = valuesOf(name.toLowerCase());
    if (values.length > 1) throw badRequest(`The request has more than one ${name} header. Send one.`);
    if (values[0] !== undefined && !form.pattern.test(values[0])) throw badRequest(`${name} ${form.rule}.`);
  }
}

/**
 * Checks everything that can be decided without the database, and reports all problems at once.
 * @throws Problem VALIDATION_ERROR with at most 20 issues.
 */
export function validateInput(
  schemas: EndpointSchemas | null,
  checkBody: CheckBody | null,
  raw: RawInput,
  ignore: Ignore,
): EndpointInput {
  if (schemas === null) return { params: raw.params, query: undefined, body: raw.body };
  const issues: Issue[] = [];
  const known = readKnown(raw.query, schemas.query.shape, ignore, issues);
  const input = {
    params: parse("path", schemas.params, raw.params, issues),
    query: parse("query", schemas.query, known, issues),
    body: schemas.body === null ? undefined : parse("body", schemas.body, raw.body, issues),
  };
  if (schemas.body !== null) {
    nameUnlisted(membersOf(schemas.body), raw.body, "", ignore);
    issues.push(...(checkBody?.(raw.body, issues) ?? []));
  }
  if (issues.length > 0) throw invalid(withoutRepeats(issues).slice(0, ISSUES_MAX));
  return input;
}

/** How many unknown names a message lists: more would hide what is missing. `X-Ignored` lists all of them. */
export const UNLISTED_NAMED_MAX = 3;

/** If something is missing, it may be misspelled or misplaced: adds the names that the endpoint does not know. */
export function nameUnlistedIn(error: unknown, unlisted: readonly string[]): unknown {
  if (!(error instanceof Problem) || unlisted.length === 0 || !hasMissing(error.data)) return error;
  const { code, message, data, headers } = error;
  const names = unlisted.map(quoteText).join(", ");
  return new Problem(code, `${message} ${names} ${unlisted.length === 1 ? "is" : "are"} not recognized.`, {
    data,
    headers,
  });
}

function hasMissing(data: unknown): boolean {
  const issues = (memberOf(data, "issues") ?? []) as readonly Issue[];
  return issues.some(({ code }) => code === "required");
}

/** Most endpoints have no query or no path parameters, and parsing nothing costs as much as parsing something. */
function isEmpty(schema: z.ZodType): boolean {
  return schema instanceof z.ZodObject && Object.keys(schema.shape).length === 0;
}

function parse(root: "body" | "query" | "path", schema: z.ZodType, value: unknown, issues: Issue[]): unknown {
  if (isEmpty(schema)) return {};
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  for (const issue of result.error.issues) issues.push(toIssue(root, issue));
  return undefined;
}

/** Returns the known parameters, which must be given once each; reports the others as ignored. */
function readKnown(query: readonly QueryParameter[], shape: object, ignore: Ignore, issues: Issue[]) {
  const known: Record<string, string> = {};
  for (const { name, value, raw } of query) {
    if (name === null || value === null) {
      const shown = name ?? printable(raw.split("=")[0] ?? "");
      const message = `The query parameter ${printable(shown)} is not valid percent-encoded UTF-8.`;
      issues.push({ path: ["query", shown], code: "invalid_text", message });
    } else if (!Object.hasOwn(shape, name)) ignore(name);
    else if (Object.hasOwn(known, name)) {
      issues.push({ path: ["query", name], code: "conflict", message: `${name} is given more than once.` });
    } else known[name] = value;
  }
  return known;
}

/** What a JSON Schema says about the members of a body. */
interface Members {
  readonly properties?: Readonly<Record<string, Members>>;
  readonly oneOf?: readonly Members[];
  readonly items?: Members;
  readonly maxItems?: number;
  readonly const?: unknown;
}

const membersOfBodies = new WeakMap<z.ZodType, Members>();

function membersOf(schema: z.ZodType): Members {
  const known = membersOfBodies.get(schema);
  if (known !== undefined) return known;
  const members = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Members;
  membersOfBodies.set(schema, members);
  return members;
}

/**
 * Reports members that the schema does not list, also in objects and lists: `runModel`, `inputs.imageInputs[0].name`.
 */
function nameUnlisted(members: Members, value: unknown, path: string, ignore: Ignore): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    const { items = {}, maxItems } = members;
    for (const [i, item] of value.slice(0, maxItems).entries()) nameUnlisted(items, item, `${path}[${i}]`, ignore);
    return;
  }
  const { properties } = members.oneOf?.find((one) => matchesVariant(one, value)) ?? members;
  if (properties === undefined) return;
  const prefix = path === "" ? "" : `${path}.`;
  const entries = Object.entries(value);
  for (const [name] of entries) if (!Object.hasOwn(properties, name)) ignore(prefix + name);
  for (const [name, member] of entries) {
    if (Object.hasOwn(properties, name)) nameUnlisted(properties[name] ?? {}, member, prefix + name, ignore);
  }
}

/** Whether the value is of this variant: the constants of the variant match, such as an image's `type`. */
function matchesVariant({ properties = {} }: Members, value: object): boolean {
  const given: ReadonlyMap<string, unknown> = new Map(Object.entries(value));
  return Object.entries(properties).every(([name, one]) => one.const === undefined || one.const === given.get(name));
}

/** A known parameter that cannot be decoded is also reported as missing; one sentence about it is enough. */
function withoutRepeats(issues: readonly Issue[]): readonly Issue[] {
  const undecodable = new Set(issues.filter(({ code }) => code === "invalid_text").map(({ path }) => path.join(" ")));
  return issues.filter(({ code, path }) => code !== "required" || !undecodable.has(path.join(" ")));
}
