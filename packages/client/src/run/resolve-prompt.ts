import { parsePromptName } from "@promptd/contract";
import type { Ask } from "../call-endpoint.ts";
import { PromptdError } from "../errors.ts";

export interface Resolving {
  readonly ask: Ask;
  /** A slug, a slug with a label (`slug@label`), or the id of a prompt or of a version. */
  readonly name: string;
  readonly signal: AbortSignal | undefined;
  readonly retryForMs: number;
}

/**
 * Creates something with the version that a name refers to. An id is tried as a version id first, because programs pin
 * versions, and then as a prompt id. A key that was used with a prompt id conflicts in the first try; the second try
 * finds what the key created.
 */
export async function createOfPrompt<Created>(
  resolving: Resolving,
  create: (promptVersionId: string) => Promise<Created>,
): Promise<Created> {
  const { ask, name, signal, retryForMs } = resolving;
  const sent = { signal, retryForMs };
  const { isId, slug, label } = parsePromptName(name);
  if (!isId) {
    return create((await ask("resolveSlug", { params: { slug }, query: { label }, ...sent })).promptVersionId);
  }
  try {
    return await create(name);
  } catch (error) {
    if (!isNotFound(error) && !isKeyConflict(error)) throw error;
    const latest = await ask("getPrompt", { params: { promptId: name }, ...sent }).catch((cause: unknown) => {
      throw isNotFound(cause) ? error : cause;
    });
    return create(latest.promptVersionId);
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof PromptdError && error.code === "NOT_FOUND_ERROR";
}

function isKeyConflict(error: unknown): boolean {
  return error instanceof PromptdError && error.issues.some(({ code }) => code === "conflict");
}
