/** Describes prompts for models and people: what they make, their inputs, and their price. */
import { countOf, orderedInputs, type PromptConfig, type TextInputField } from "@promptd/contract";
import type { ShownPrompt } from "./find-prompts.ts";

/** Replaces line breaks: authors' texts appear in these lines and must not start new ones. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
}

export function describePrice({ estimatedCredits, creditsRequired }: PromptConfig): string {
  if (creditsRequired === 0) return "free";
  const usual = countOf(estimatedCredits, "credit");
  return creditsRequired === estimatedCredits ? usual : `about ${usual}; ${creditsRequired} must be available`;
}

/** Returns Markdown: the title, description, and price, then lists of inputs, images, and options. */
export function describePrompt({ name, title, description, config }: ShownPrompt): string {
  const { inputs, images, options } = describeInputs(config);
  const parts = [
    `# ${oneLine(title)}`,
    oneLine(description),
    `Prompt \`${name}\`; makes ${config.output.type}; ${describePrice(config)} per run.`,
    list("Inputs", inputs),
    list("Images", images),
    list("Options", options),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** A line for each input, image, and option. */
export function describeInputs(
  config: PromptConfig,
): Readonly<Record<"inputs" | "images" | "options", readonly string[]>> {
  return {
    inputs: orderedInputs(config).map(([key, field]) => `\`${oneLine(key)}\`: ${describeField(key, field)}`),
    images: config.imageInputs.map(({ position, label, description }) =>
      oneLine(`${position + 1}. ${label}${description === "" ? "" : `: ${description}`}`),
    ),
    options: Object.entries(config.runOptions).map(([key, option]) => `\`${key}\`: ${describeOption(option)}`),
  };
}

function list(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [`## ${title}`, "", ...lines.map((line) => `- ${line}`)].join("\n");
}

export function describeField(key: string, field: TextInputField): string {
  const { options, multiple, maxLength, min, max } = field;
  const facts = [
    ["text", "select"].includes(field.type) ? null : field.type,
    field.required ? "required" : `default ${oneLine(JSON.stringify(field.default))}`,
    field.label === key ? null : oneLine(field.label),
    field.description === "" ? null : oneLine(field.description),
    options === null ? null : `one of: ${options.map(oneLine).join(", ")}`,
    multiple === null ? null : `${multiple.min} to ${multiple.max} of them, separated by commas`,
    maxLength === null ? null : `at most ${countOf(maxLength, "character")}`,
    min === undefined ? null : `at least ${min}`,
    max === undefined ? null : `at most ${max}`,
  ];
  return facts.filter((fact) => fact !== null).join("; ");
}

export function describeOption(option: PromptConfig["runOptions"][string]): string {
  const values = option.options.join(", ");
  return option.default === null ? values : `${values} (default ${option.default})`;
}
