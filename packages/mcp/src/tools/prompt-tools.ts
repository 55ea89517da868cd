/** A chosen prompt as a tool of its own. */
import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import type { InputValue } from "@promptd/client";
import type { ImageInput } from "@promptd/contract";
import { freeName, nameArguments } from "../prompts/argument-names.ts";
import { describePrice, oneLine } from "../prompts/describe-prompt.ts";
import type { ShownPrompt } from "../prompts/find-prompts.ts";
import { argumentsSchema } from "../prompts/prompt-schema.ts";
import type { CallContext, McpSource } from "../source.ts";
import { readImage } from "./image-arguments.ts";
import { runPromptTool, type RunArguments } from "./run-tool.ts";

/**
 * Maps tool names to prompts: the slug, cut to the length that hosts accept, with a number if the name is taken.
 * @param reserved the names of other tools.
 */
export function nameTools(
  prompts: readonly ShownPrompt[],
  reserved: readonly Tool[],
): ReadonlyMap<string, ShownPrompt> {
  const named = new Map<string, ShownPrompt>();
  const taken = new Set(reserved.map(({ name }) => name));
  for (const prompt of prompts) {
    const name = freeName(prompt.name.replaceAll(".", "_"), taken);
    taken.add(name);
    named.set(name, prompt);
  }
  return named;
}

export function describeTool(name: string, prompt: ShownPrompt): Tool {
  const { title, description, config } = prompt;
  const about = [oneLine(description), `Makes ${config.output.type}; ${describePrice(config)} per run.`];
  return {
    name,
    title: oneLine(title),
    description: about.filter((part) => part !== "").join("\n"),
    inputSchema: argumentsSchema(config),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  };
}

/** @throws RangeError for an argument that the prompt does not have, or whose value has the wrong form. */
export async function callPromptTool(
  prompt: ShownPrompt,
  given: Readonly<Record<string, unknown>>,
  source: McpSource,
  context: CallContext,
): Promise<CallToolResult> {
  return runPromptTool(prompt, await readArguments(prompt, given, source), source, context);
}

async function readArguments(
  { config }: ShownPrompt,
  given: Readonly<Record<string, unknown>>,
  source: McpSource,
): Promise<RunArguments> {
  const targets = nameArguments(config);
  const inputs: [string, InputValue][] = [];
  const options: [string, string][] = [];
  const images = new Map<number, ImageInput>();
  for (const [name, value] of Object.entries(given)) {
    const target = targets.get(name);
    if (target === undefined) throw new RangeError(unknownArgument(name, [...targets.keys()]));
    if (value === undefined || value === null) continue;
    if (target.kind === "text") inputs.push([target.key, readValue(name, value)]);
    else if (target.kind === "option") options.push([target.key, String(readValue(name, value))]);
    else images.set(target.position, await readImage(String(readValue(name, value)), source));
  }
  return {
    inputs: Object.fromEntries(inputs),
    images: [...images].toSorted(([a], [b]) => a - b).map(([, image]) => image),
    options: Object.fromEntries(options),
  };
}

function unknownArgument(name: string, known: readonly string[]): string {
  const names = known.length === 0 ? "It has no arguments." : `Its arguments: ${known.join(", ")}.`;
  return `The prompt has no argument ${JSON.stringify(name)}. ${names} Nothing was run.`;
}

/** @throws RangeError if the value is not a string, a number, a boolean, or a list of them. */
export function readValue(name: string, value: unknown): InputValue {
  if (isPlain(value)) return value;
  if (Array.isArray(value) && value.every(isPlain)) return value.map(String);
  throw new RangeError(`${JSON.stringify(name)} must be a string, a number, a boolean, or a list of strings.`);
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
