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

/**
 * The version that a slug leads to.
 * @throws PromptdError NOT_FOUND_ERROR when no published prompt has it.
 */
export async function findBySlug(call: CallEndpoint, slug: string, resolving: Resolving): Promise<string> {
  const query = { q: slug.replaceAll("-", " ").slice(0, 200) };
  const { data } = await call("searchPrompts", { params: {}, query, body: undefined, ...resolving });
  const found = data.rows.find((row) => row.slug === slug);
  if (found !== undefined) return found.promptVersionId;
  throw new PromptdError(`No published prompt has the slug "${slug}".`, {
    code: "NOT_FOUND_ERROR",
    httpStatus: 404,
    data: null,
    requestId: null,
    retryAfterMs: null,
  });
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
