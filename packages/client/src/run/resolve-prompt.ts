import type { CallEndpoint } from "../call-endpoint.ts";
import { PromptdError } from "../errors.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface Resolving {
  readonly signal: AbortSignal | undefined;
  readonly retryForMs: number;
}

/** Whether a text is the id of a version, as far as its form says. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** The version that a slug leads to, or a slug with a label: `slug@label`. */
export async function findBySlug(call: CallEndpoint, name: string, resolving: Resolving): Promise<string> {
  const [slug = "", label] = name.split("@");
  const { data } = await call("resolveSlug", { params: { slug }, query: { label }, body: undefined, ...resolving });
  return data.promptVersionId;
}

/** The latest version of a prompt. @returns null when no published prompt has this id. */
export async function findLatest(call: CallEndpoint, promptId: string, resolving: Resolving): Promise<string | null> {
  try {
    const { data } = await call("getPrompt", { params: { promptId }, query: {}, body: undefined, ...resolving });
    return data.promptVersionId;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof PromptdError && error.code === "NOT_FOUND_ERROR";
}
