import type { InputField } from "../prompt-definition.ts";

/** Characters of a text input that `creditsRequired` covers; longer texts may need more. */
export const AMPLE_CHARACTERS = 500;

/** Inputs of a large ordinary run: 500 characters for each text, and of every choice the longest texts. */
export function ampleInputs(inputs: readonly InputField[]): Record<string, string> {
  return Object.fromEntries(inputs.map((input) => [input.key, ampleValue(input)]));
}

function ampleValue({ choices, multiple, maxLength, default: usual }: InputField): string {
  if (choices !== null) {
    const longest = choices.toSorted((a, b) => b.text.length - a.text.length).slice(0, multiple?.max ?? 1);
    return longest.map(({ name }) => name).join(", ");
  }
  const text = "x".repeat(Math.min(AMPLE_CHARACTERS, maxLength ?? AMPLE_CHARACTERS));
  return usual !== null && usual.length > text.length ? usual : text;
}
