import { PromptdError, type Client } from "@promptd/client";
import { parsePromptName, suggestName, type PromptVersion } from "@promptd/contract";
import { findById } from "@promptd/mcp/describe";
import { CommandFailure } from "../command.ts";
import { printableLine } from "../printable.ts";

interface Wanted {
  readonly client: Client;
  readonly name: string;
  readonly signal: AbortSignal;
}

/**
 * Accepts a slug, a prompt id, or a version id, so that people need not know which one they have.
 * @throws CommandFailure when nothing matches.
 */
export function findVersion(client: Client, name: string, signal: AbortSignal): Promise<PromptVersion> {
  return orExplained({ client, name, signal }, async () => {
    const { isId, slug, label } = parsePromptName(name);
    if (isId) return findById(client, name, signal);
    const { slug: _slug, label: _label, ...version } = await client.prompts.getBySlug(slug, { label, signal });
    return version;
  });
}

/** @throws CommandFailure with a suggestion when `find` finds nothing by the name. */
export async function orExplained<Found>(wanted: Wanted, find: () => Promise<Found>): Promise<Found> {
  try {
    return await find();
  } catch (error) {
    throw isNotFound(error) ? await explainMissing(wanted, error) : error;
  }
}

async function explainMissing({ client, name, signal }: Wanted, cause: PromptdError): Promise<CommandFailure> {
  const { isId, slug, label } = parsePromptName(name);
  if (isId) return neitherFailure(name, cause);
  if (label !== undefined && (await isPublished(client, slug, signal))) return labelFailure(slug, label, cause);
  return slugFailure(slug, await findSimilar(client, slug, signal), cause);
}

async function isPublished(client: Client, slug: string, signal: AbortSignal): Promise<boolean> {
  return client.prompts.getBySlug(slug, { signal }).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );
}

function labelFailure(slug: string, label: string, cause: PromptdError): CommandFailure {
  const message = `The prompt "${printableLine(slug)}" has no label "${printableLine(label)}".`;
  return new CommandFailure(message, { hint: `For its latest version, use "${printableLine(slug)}".`, cause });
}

/** A similar published slug. */
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

/** The server's message mentions a version, which misleads a user who gave a prompt id. */
function neitherFailure(id: string, cause: PromptdError): CommandFailure {
  const message = `No published prompt or prompt version has the id ${printableLine(id)}.`;
  return new CommandFailure(message, { hint: 'Find prompts with "promptd search <words>".', cause });
}

function isNotFound(error: unknown): error is PromptdError {
  return error instanceof PromptdError && error.code === "NOT_FOUND_ERROR";
}
