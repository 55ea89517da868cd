/** Every id is a UUID, in lower or upper case. Slugs never have this form. */
export const ID_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A prompt's slug; upper case is converted to lower case. */
export const SLUG_FORM = /^[A-Za-z0-9-]{1,140}$/;

/** A version's label: one that its author set, or `latest`. */
export const LABEL_FORM = /^[a-z][a-z0-9-]{0,39}$/;

/** A slug, optionally followed by @ and a label. */
export const SLUG_NAME_FORM = /^[A-Za-z0-9-]{1,140}(@[a-z][a-z0-9-]{0,39})?$/;

/** How callers refer to a prompt: a prompt id, a version id, a slug, or a slug with a label (`slug@label`). */
export interface ParsedPromptName {
  readonly isId: boolean;
  /** The part before the @, or the whole id. */
  readonly slug: string;
  /** Undefined: the latest version. */
  readonly label: string | undefined;
}

/** Does not check whether the id, slug, or label is valid or exists; the server does. */
export function parsePromptName(name: string): ParsedPromptName {
  const [slug = "", label] = name.split(/@([^]*)/); // at the first @ only
  return { isId: ID_FORM.test(name), slug, label };
}
