import { createHash } from "node:crypto";
import type { ModelEntry, Resources } from "@promptd/contract";
import type { ModelRecord } from "./catalogue-file.ts";

/**
 * The list a client may cache. Models sorted by id and options by key, in UTF-16 code units; values keep the order of
 * the catalogue. The hash covers exactly what is sent, so that a client can verify it.
 */
export function buildResources(entries: readonly ModelRecord[]): Resources {
  const models = entries.map(describeModel).sort((a, b) => compareUnits(a.model, b.model));
  const resources = { models };
  return { hash: hashResources(resources), resources };
}

/** Base64url of SHA-256 over the RFC 8785 form: 43 characters. */
export function hashResources(resources: Resources["resources"]): string {
  return createHash("sha256").update(canonicalJson(resources)).digest("base64url");
}

function describeModel(entry: ModelRecord): ModelEntry {
  const options = Object.entries(entry.runOptions).map(([key, option]) => ({
    key,
    options: Object.keys(option.values),
  }));
  return {
    model: entry.model,
    modality: entry.modality,
    availableRunOptions: options.sort((a, b) => compareUnits(a.key, b.key)),
  };
}

/** RFC 8785: members sorted by UTF-16 code units, no blanks; ECMAScript already writes numbers and strings that way. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => compareUnits(a, b));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(",")}}`;
}

function compareUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
