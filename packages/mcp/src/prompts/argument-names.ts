import { orderedInputs, type PromptConfig, type TextInputField } from "@promptd/contract";

/** What an argument of a prompt's tool maps to. */
export type ArgumentTarget =
  | { readonly kind: "text"; readonly key: string; readonly field: TextInputField }
  | { readonly kind: "image"; readonly position: number; readonly label: string; readonly description: string }
  | {
      readonly kind: "option";
      readonly key: string;
      readonly default: string | null;
      readonly options: readonly string[];
    };

const NAME_LENGTH_MAX = 64;

/**
 * The arguments of a prompt's tool by name, in display order. Authors name inputs freely ("Child's Age"), but models
 * accept only letters, digits, `_`, `.`, and `-`: other characters become `_`, and a taken name gets a number.
 */
export function nameArguments(config: PromptConfig): ReadonlyMap<string, ArgumentTarget> {
  const wanted: (readonly [string, ArgumentTarget])[] = [
    ...orderedInputs(config).map(([key, field]) => [key, { kind: "text", key, field }] as const),
    ...config.imageInputs.map((slot) => [slot.label, { kind: "image", ...slot }] as const),
    ...Object.entries(config.runOptions).map(([key, option]) => [key, { kind: "option", key, ...option }] as const),
  ];
  const named = new Map<string, ArgumentTarget>();
  for (const [text, target] of wanted) named.set(freeName(text, named), target);
  return named;
}

/** @param taken names already in use. */
export function freeName(text: string, taken: { has(name: string): boolean; readonly size: number }): string {
  const plain = text.replaceAll(/[^A-Za-z0-9_.-]+/g, "_").replaceAll(/^_+|_+$/g, "");
  const name = (plain === "" ? "input" : plain).slice(0, NAME_LENGTH_MAX);
  if (!taken.has(name)) return name;
  const numbers = Array.from({ length: taken.size + 1 }, (_, index) => index + 2);
  const free = numbers
    .map((number) => `${name.slice(0, NAME_LENGTH_MAX - 4)}_${number}`)
    .find((one) => !taken.has(one));
  return free ?? name;
}
