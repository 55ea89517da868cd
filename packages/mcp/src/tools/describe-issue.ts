import { describeType, quoteText, suggestName } from "@promptd/contract";
import { z } from "zod";

/** What each argument of the general tools must be. */
const FORMS: Readonly<Record<string, string>> = {
  query: "a string of 1 to 200 characters",
  limit: "an integer from 1 to 20",
  prompt: "the slug or the id of a prompt",
  inputs: "an object whose values are strings, numbers, booleans, or lists of strings and numbers",
  images: "a list of strings",
  options: "an object whose values are strings or numbers",
  idempotencyKey: "1 to 255 visible ASCII characters without spaces",
  runId: "the id of a run",
  waitSeconds: "an integer from 0 to 60",
};

/** Replaces Zod's messages with sentences like those of the HTTP API. */
export function describeIssue(tool: string, names: readonly string[], issue: z.core.$ZodRawIssue): string {
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => describeUnknown(tool, names, key)).join(" ");
  const [name, ...nested] = issue.path ?? [];
  if (name === undefined) return `The arguments of ${tool} must be an object, got ${describeType(issue.input)}.`;
  if (issue.input === undefined) return `${String(name)} is required.`;
  const where = nested.length === 0 ? "" : ` in ${z.core.toDotPath(issue.path ?? [])}`;
  return `${String(name)} must be ${FORMS[String(name)] ?? "of another form"}, got ${describeValue(issue.input)}${where}.`;
}

function describeUnknown(tool: string, names: readonly string[], key: string): string {
  const meant = suggestName(key, names);
  const hint = meant === null ? `Its arguments: ${names.join(", ")}.` : `Did you mean "${meant}"?`;
  return `${tool} has no argument ${quoteText(key)}. ${hint}`;
}

function describeValue(value: unknown): string {
  if (typeof value === "string") return quoteText(value);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : describeType(value);
}
