/** Every id is a UUID, in small or capital letters. No slug has this form. */
export const ID_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Of a prompt; capitals are read as small letters. */
export const SLUG_FORM = /^[A-Za-z0-9-]{1,140}$/;

/** Of a version: one that its author has set, or `latest`. */
export const LABEL_FORM = /^[a-z][a-z0-9-]{0,39}$/;

/** A slug alone, or with a label behind an @. */
export const SLUG_NAME_FORM = /^[A-Za-z0-9-]{1,140}(@[a-z][a-z0-9-]{0,39})?$/;

/** What callers name a prompt by: its id or that of a version, or its slug with or without a label (`slug@label`). */
export interface ParsedPromptName {
  readonly isId: boolean;
  /** What stands before the @; of an id, the id. */
  readonly slug: string;
  /** Undefined: the latest version. */
  readonly label: string | undefined;
}

/** Whether an id, a slug or a label exists, and has a valid form, is for the server to say. */
export function parsePromptName(name: string): ParsedPromptName {
  const [slug = "", label] = name.split(/@([^]*)/); // at the first one; what follows it stays whole
  return { isId: ID_FORM.test(name), slug, label };
}
