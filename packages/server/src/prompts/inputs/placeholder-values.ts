import type { InputField } from "../prompt-definition.ts";

/**
 * A value for every input, so that a prompt can be rendered before anybody runs it: the given one, else the default,
 * else the first choice, else the label in brackets.
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

function placeholder({ label, choices, multiple }: InputField): string {
  if (choices === null) return `(${label})`;
  return choices
    .slice(0, multiple?.min ?? 1)
    .map(({ name }) => name)
    .join(", ");
}
