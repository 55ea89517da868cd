import { CommandFailure } from "../command.ts";
import { printableLine } from "../printable.ts";
import { parseObject } from "../user-config.ts";

/**
 * The texts of one JSON object, by the names of inputs; what is null is not given.
 * @param name what errors call it.
 * @throws CommandFailure for anything else.
 */
export function readJsonTexts(json: string, name: string): Record<string, string> {
  const hint = "It must hold one JSON object of texts, numbers, booleans or lists, by the names of the inputs.";
  const given = parseObject(json, asWritten);
  if (given === null || Array.isArray(given)) throw new CommandFailure(`${name} is not a JSON object.`, { hint });
  const texts = Object.entries(given).flatMap(([key, value]) => {
    if (value === null) return [];
    if (typeof value === "string" || typeof value === "boolean") return [[key, String(value)] as const];
    if (Array.isArray(value) && value.every((item) => typeof item === "string"))
      return [[key, value.join("\n")] as const];
    const what = "neither a text, a number, a boolean nor a list";
    throw new CommandFailure(`${name}: "${printableLine(key)}" is ${what}.`, { hint });
  });
  return Object.fromEntries(texts);
}

/** A number becomes its text: a long one, such as an order's, would lose its last digits as a number of JavaScript. */
function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number") return value;
  const source = context?.source ?? String(value);
  return /e/i.test(source) ? String(value) : source;
}
