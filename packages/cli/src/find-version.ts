import { PromptdError, type Client } from "@promptd/client";
import type { PromptVersion } from "@promptd/contract";

/**
 * People have either id at hand and need not know which. Ids of prompts and versions never coincide, so the order
 * in which they are tried does not matter.
 * @throws PromptdError NOT_FOUND_ERROR of the version when it is neither.
 */
export async function findVersion(client: Client, id: string, signal: AbortSignal): Promise<PromptVersion> {
  try {
    return await client.promptVersions.get(id, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return (await findPrompt(client, id, signal)) ?? Promise.reject(error);
  }
}

/** @returns the latest published version; null when no prompt has this id. */
export async function findPrompt(client: Client, promptId: string, signal: AbortSignal): Promise<PromptVersion | null> {
  try {
    return await client.prompts.get(promptId, { signal });
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

export function isNotFound(error: unknown): error is PromptdError {
  return error instanceof PromptdError && error.code === "NOT_FOUND_ERROR";
}
