/** Which prompts become tools of their own: those of a list, or those of the account that carry a label. */
export interface PromptChoice {
  /** Slugs, each with a label behind an @ where its own is wanted. */
  readonly names: readonly string[];
  /** For names without one. Without names: the account's own prompts that carry it. Null: the latest versions. */
  readonly label: string | null;
}

/** More would fill the context of a model with descriptions, and clients cut long lists. */
const CHOSEN_MAX = 40;

/** @throws RangeError for more prompts than can be tools. */
export function readChoice(list: string | null, label: string | null): PromptChoice {
  const names = [...new Set((list ?? "").split(",").map((name) => name.trim()))].filter((name) => name !== "");
  if (names.length > CHOSEN_MAX) {
    throw new RangeError(`At most ${CHOSEN_MAX} prompts can be tools of their own, ${names.length} were chosen.`);
  }
  return { names, label: label === "" ? null : label };
}

export function isEmpty({ names, label }: PromptChoice): boolean {
  return names.length === 0 && label === null;
}
