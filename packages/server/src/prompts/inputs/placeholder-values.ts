import type { InputField, InputType } from "../prompt-definition.ts";

/**
 * Makes a value for every input, so that a prompt can be rendered before anyone runs it: the given value, or else the
 * default, the first choice, or the label in parentheses.
 */
export function placeholderValues(
  inputs: readonly InputField[],
  given: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const values = Object.create(null) as Record<string, string>;
  for (const input of inputs) {
    const own = Object.hasOwn(given, input.key) ? given[input.key] : undefined;
    values[input.key] = own ?? input.default ?? placeholder(input);
  }
  return values;
}

function placeholder({ label, choices, multiple, type, min }: InputField): string {
  if (type !== undefined) return typedPlaceholder(type, { min: min ?? 1, items: multiple?.min ?? 2 });
  if (choices === null) return `(${label})`;
  return choices
    .slice(0, multiple?.min ?? 1)
    .map(({ name }) => name)
    .join(", ");
}

function typedPlaceholder(type: InputType, { min, items }: { readonly min: number; readonly items: number }): string {
  if (type === "number") return String(min);
  if (type === "boolean") return "true";
  if (type === "date") return "2026-01-31";
  return Array.from({ length: items }, (_, at) => `item ${at + 1}`).join("\n");
}
