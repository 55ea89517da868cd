import { CommandFailure } from "../command.ts";
import { printableLine } from "../printable.ts";
import { parseObject } from "../user-config.ts";

/**
 * Reads the texts of one JSON object by input name. A null value counts as not given.
 * @param name the name of the source in error messages.
 * @throws CommandFailure for anything else.
 */
export function readJsonTexts(json: string, name: string): Record<string, string> {
  const hint = "It must contain one JSON object that maps input names to strings, numbers, booleans, or lists.";
  const given = parseObject(json, asWritten);
  if (given === null || Array.isArray(given)) throw new CommandFailure(`${name} is not a JSON object.`, { hint });
  const texts = Object.entries(given).flatMap(([key, value]) => {
    if (value === null) return [];
    if (typeof value === "string" || typeof value === "boolean") return [[key, String(value)] as const];
    if (Array.isArray(value) && value.every((item) => typeof item === "string"))
      return [[key, value.join("\n")] as const];
    const what = "not a string, number, boolean, or list";
    throw new CommandFailure(`${name}: "${printableLine(key)}" is ${what}.`, { hint });
  });
  return Object.fromEntries(texts);
}

/** Keeps a number as its source text: as a JavaScript number, a long order number would lose its last digits. */
function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number") return value;
  const source = context?.source ?? String(value);
  return /e/i.test(source) ? String(value) : source;
}
