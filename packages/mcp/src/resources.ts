/** Prompts as resources: `promptd://prompts/{slug}`. The list has the chosen prompts; others are read by their slug. */
import { ResourceNotFoundError, type ReadResourceResult, type Resource } from "@modelcontextprotocol/server";
import { PromptdError } from "@promptd/client";
import { describePrompt, oneLine } from "./prompts/describe-prompt.ts";
import { findChosen, findPrompt, type ShownPrompt } from "./prompts/find-prompts.ts";
import type { McpSource } from "./source.ts";

const PREFIX = "promptd://prompts/";
export const PROMPT_TEMPLATE = {
  name: "prompt",
  title: "Prompt",
  uriTemplate: `${PREFIX}{slug}`,
  description: "A published prompt: what it makes, its inputs, images, and options, and its price.",
  mimeType: "text/markdown",
} as const;

export async function listPrompts(source: McpSource, signal: AbortSignal): Promise<Resource[]> {
  const { prompts } = await findChosen(source.client, source.choice, signal);
  return prompts.map((prompt) => toResource(prompt));
}

function toResource({ name, title, description }: ShownPrompt): Resource {
  return {
    uri: `${PREFIX}${encodeURIComponent(name)}`,
    name,
    title: oneLine(title),
    description: oneLine(description),
    mimeType: PROMPT_TEMPLATE.mimeType,
  };
}

/** @throws ResourceNotFoundError if the URI names no published prompt. */
export async function readPrompt(uri: string, source: McpSource, signal: AbortSignal): Promise<ReadResourceResult> {
  const name = uri.startsWith(PREFIX) ? decodeName(uri.slice(PREFIX.length)) : "";
  if (name === "") throw new ResourceNotFoundError(uri);
  try {
    const text = describePrompt(await findPrompt(source.client, name, signal));
    return { contents: [{ uri, mimeType: PROMPT_TEMPLATE.mimeType, text }] };
  } catch (error) {
    const isUnknown = error instanceof PromptdError && ["NOT_FOUND_ERROR", "VALIDATION_ERROR"].includes(error.code);
    throw isUnknown ? new ResourceNotFoundError(uri, error.message) : error;
  }
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** Slugs of prompts that match the typed text, best match first. */
export async function completeSlug(typed: string, { client }: McpSource, signal: AbortSignal): Promise<string[]> {
  const query = typed.replaceAll("-", " ").trim().slice(0, 200);
  if (query === "") return [];
  const { rows } = await client.prompts.search(query, { signal });
  return rows.map(({ slug }) => slug);
}
