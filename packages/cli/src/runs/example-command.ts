import { orderedInputs, type PromptConfig } from "@promptd/contract";
import { printableLine } from "../printable.ts";

/** A command line that runs the prompt, with a placeholder for each input that it needs. */
export function exampleCommand(
  name: string,
  config: PromptConfig,
  values: Readonly<Record<string, string>> = {},
): string {
  const inputs = orderedInputs(config)
    .filter(([key, field]) => field.required || Object.hasOwn(values, key))
    .map(([key, field]) => quoteForShell(`${key}=${values[key] ?? field.options?.[0] ?? "…"}`));
  const images = config.imageInputs.map((slot) => `--image ${quoteForShell(`${printableLine(slot.label)}.jpg`)}`);
  return ["promptd run", name, ...inputs, ...images].join(" ");
}

/** Single quotes protect everything but themselves. */
function quoteForShell(word: string): string {
  return /^[A-Za-z0-9_./=…-]+$/.test(word) ? word : `'${printableLine(word).replaceAll("'", `'\\''`)}'`;
}
