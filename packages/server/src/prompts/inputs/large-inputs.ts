import type { InputField } from "../prompt-definition.ts";

/** Characters of a text input that `creditsRequired` covers; longer texts may need more. */
const AMPLE_CHARACTERS = 500;
/** List items of 50 characters each. */
const ITEMS = AMPLE_CHARACTERS / 50;

/**
 * Makes the inputs of a large but ordinary run: 500 characters for each text, and the longest choices of each select.
 */
export function largeInputs(inputs: readonly InputField[]): Record<string, string> {
  return Object.fromEntries(inputs.map((input) => [input.key, ampleValue(input)]));
}

function ampleValue({ choices, multiple, maxLength, type, max, default: usual }: InputField): string {
  if (type === "list")
    return Array.from({ length: Math.min(multiple?.max ?? ITEMS, ITEMS) }, () => "x".repeat(50)).join("\n");
  if (type !== undefined) return usual ?? (type === "number" ? String(max ?? 1_000_000) : "2026-01-31");
  if (choices !== null) {
    const longest = choices.toSorted((a, b) => b.text.length - a.text.length).slice(0, multiple?.max ?? 1);
    return longest.map(({ name }) => name).join(", ");
  }
  const text = "x".repeat(Math.min(AMPLE_CHARACTERS, maxLength ?? AMPLE_CHARACTERS));
  return usual !== null && usual.length > text.length ? usual : text;
}
