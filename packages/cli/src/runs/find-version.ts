import { PromptdError, type Client } from "@promptd/client";
import type { PromptVersion } from "@promptd/contract";
import { CommandFailure } from "../command.ts";
import { printableLine } from "../printable.ts";
import { suggestName } from "../suggest-name.ts";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * People have a slug or either id at hand and need not know which. Ids of prompts and versions never coincide, so the
 * order in which they are tried does not matter.
 * @throws CommandFailure when it is none of them.
 */
export async function findVersion(client: Client, name: string, signal: AbortSignal): Promise<PromptVersion> {
  if (!ID.test(name)) return findBySlug(client, name, signal);
  try {
    return await client.promptVersions.get(name, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return (await findPrompt(client, name, signal)) ?? Promise.reject(neitherFailure(name, error));
  }
}

/** `slug` or `slug@label`. */
async function findBySlug(client: Client, name: string, signal: AbortSignal): Promise<PromptVersion> {
  const [slug = "", label] = name.split("@");
  try {
    const call = { params: { slug }, query: { label }, body: undefined, signal };
    const { slug: _slug, label: _label, ...version } = (await client.call("resolveSlug", call)).data;
    return version;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw slugFailure(name, label === undefined ? await findSimilar(client, slug, signal) : null, error);
  }
}

/** A published slug that may have been meant. */
async function findSimilar(client: Client, slug: string, signal: AbortSignal): Promise<string | null> {
  const { rows } = await client.prompts.search(slug.replaceAll("-", " ").slice(0, 200), { signal });
  const slugs = rows.map((row) => row.slug);
  return suggestName(slug, slugs) ?? slugs.find((known) => known.startsWith(slug)) ?? null;
}

function slugFailure(name: string, meant: string | null, cause: PromptdError): CommandFailure {
  const message = `No published prompt has the slug "${printableLine(name)}".`;
  return new CommandFailure(meant === null ? message : `${message} Did you mean "${printableLine(meant)}"?`, {
    hint: 'Find prompts with "promptd search <words>".',
    cause,
  });
}

/** The server's message speaks of a version, which misleads a user who gave the id of a prompt. */
function neitherFailure(id: string, cause: PromptdError): CommandFailure {
  const message = `No published prompt or prompt version has the id ${printableLine(id)}.`;
  return new CommandFailure(message, { hint: 'Find prompts with "promptd search <words>".', cause });
}

/** @returns the latest published version; null when no prompt has this id. */
async function findPrompt(client: Client, promptId: string, signal: AbortSignal): Promise<PromptVersion | null> {
  try {
    return await client.prompts.get(promptId, { signal });
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

function isNotFound(error: unknown): error is PromptdError {
  return error instanceof PromptdError && error.code === "NOT_FOUND_ERROR";
}
