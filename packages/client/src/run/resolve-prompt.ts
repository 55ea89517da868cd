import type { Ask } from "../call-endpoint.ts";
import { PromptdError } from "../errors.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface Resolving {
  readonly ask: Ask;
  /** A slug, a slug with a label (`slug@label`), or the id of a prompt or of a version. */
  readonly name: string;
  /** The caller has named what is created: the same name may have been used with the version that the prompt has. */
  readonly isKeyed: boolean;
  readonly signal: AbortSignal | undefined;
  readonly retryForMs: number;
}

/**
 * Creates something of the version that a name leads to. An id is tried as that of a version first, which programs pin,
 * and then as that of a prompt; in the other order where a key would make a conflict of what was only tried out.
 */
export async function createOfPrompt<Created>(
  resolving: Resolving,
  create: (promptVersionId: string) => Promise<Created>,
): Promise<Created> {
  const { ask, name, isKeyed, signal, retryForMs } = resolving;
  const sent = { signal, retryForMs };
  if (!UUID.test(name)) {
    const [slug = "", label] = name.split("@");
    return create((await ask("resolveSlug", { params: { slug }, query: { label }, ...sent })).promptVersionId);
  }
  const findLatest = async (): Promise<string | null> => {
    const latest = await ask("getPrompt", { params: { promptId: name }, ...sent }).catch(nullWhenNotFound);
    return latest && latest.promptVersionId;
  };
  if (isKeyed) return create((await findLatest()) ?? name);
  try {
    return await create(name);
  } catch (error) {
    nullWhenNotFound(error);
    const latest = await findLatest();
    if (latest === null) throw error;
    return create(latest);
  }
}

/** @throws every other error again. */
function nullWhenNotFound(error: unknown): null {
  if (error instanceof PromptdError && error.code === "NOT_FOUND_ERROR") return null;
  throw error;
}
