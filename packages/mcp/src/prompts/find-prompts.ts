import { PromptdError, type Client } from "@promptd/client";
import { parsePromptName, SLUG_NAME_FORM, type NamedPrompt, type PromptVersion } from "@promptd/contract";
import { isEmpty, type PromptChoice } from "./choice.ts";

/** A prompt as a tool describes it. A prompt found by id has neither a slug nor a description. */
export interface ShownPrompt extends Omit<NamedPrompt, "slug" | "label" | "description"> {
  /** The name to run it by: a slug, a slug with a label, or the id of its version. */
  readonly name: string;
  readonly description: string;
}

/** Finds the chosen prompts, in the order of the choice, and the missing names, which do not affect the others. */
export async function findChosen(
  client: Client,
  { names, label }: Pick<PromptChoice, "names" | "label">,
  signal: AbortSignal,
): Promise<{ readonly prompts: readonly ShownPrompt[]; readonly missing: readonly string[] }> {
  if (isEmpty({ names, label })) return { prompts: [], missing: [] };
  const query = { slugs: names.length === 0 ? undefined : names.join(","), label: label ?? undefined };
  const { data } = await client.call("listSlugs", { query, signal });
  return { prompts: data.rows.map(toShown), missing: data.missing };
}

/**
 * Finds a prompt by its slug, `slug@label`, its id, or a version id.
 * @throws PromptdError NOT_FOUND_ERROR if the name matches none of them.
 */
export async function findPrompt(client: Client, name: string, signal: AbortSignal): Promise<ShownPrompt> {
  const { isId, slug, label } = parsePromptName(name);
  if (isId) return { name, description: "", ...(await findById(client, name, signal)) };
  const names = SLUG_NAME_FORM.test(name.toLowerCase()) ? [name] : [];
  const { prompts } = await findChosen(client, { names, label: null }, signal);
  // Throws the server's own error message.
  return prompts[0] ?? { name, description: "", ...(await client.prompts.getBySlug(slug, { label, signal })) };
}

/**
 * Finds the version with this id, or the latest version of the prompt with this id. The two kinds of ids never
 * coincide.
 * @throws PromptdError NOT_FOUND_ERROR if neither exists.
 */
export async function findById(client: Client, id: string, signal: AbortSignal): Promise<PromptVersion> {
  try {
    return await client.promptVersions.get(id, { signal });
  } catch (error) {
    if (!(error instanceof PromptdError) || error.code !== "NOT_FOUND_ERROR") throw error;
    return client.prompts.get(id, { signal });
  }
}

function toShown({ slug, label, ...prompt }: NamedPrompt): ShownPrompt {
  return { name: label === null ? slug : `${slug}@${label}`, ...prompt };
}
