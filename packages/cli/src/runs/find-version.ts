import { PromptdError, type Client } from "@promptd/client";
import type { PromptVersion } from "@promptd/contract";
import { CommandFailure } from "../command.ts";
import { printableLine } from "../printable.ts";

/**
 * People have either id at hand and need not know which. Ids of prompts and versions never coincide, so the order
 * in which they are tried does not matter.
 * @throws CommandFailure when it is neither.
 */
export async function findVersion(client: Client, id: string, signal: AbortSignal): Promise<PromptVersion> {
  try {
    return await client.promptVersions.get(id, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return (await findPrompt(client, id, signal)) ?? Promise.reject(neitherFailure(id, error));
  }
}

/** The server's message speaks of a version, which misleads a user who gave the id of a prompt. */
export function neitherFailure(id: string, cause: PromptdError): CommandFailure {
  const message = `No published prompt or prompt version has the id ${printableLine(id)}.`;
  return new CommandFailure(message, { hint: 'Find prompts with "promptd search <words>".', cause });
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
