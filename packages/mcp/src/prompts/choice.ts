import { LABEL_FORM, printable, SLUG_NAME_FORM } from "@promptd/contract";

/** Which prompts become tools of their own: listed prompts, or the account's prompts that have a label. */
export interface PromptChoice {
  /** Slugs, each optionally followed by @ and a label of its own. */
  readonly names: readonly string[];
  /**
   * Applies to names without a label. Without names: chooses the account's prompts that have it. Null: the latest
   * versions.
   */
  readonly label: string | null;
  /** A sentence for each invalid part, which is skipped; the other parts still apply. */
  readonly faults: readonly string[];
}

/** More descriptions would fill a model's context, and clients truncate long lists. */
const CHOSEN_MAX = 40;

/** @throws RangeError if the list has more prompts than can be tools. */
export function readChoice(list: string | null, label: string | null): PromptChoice {
  const names = [...new Set((list ?? "").split(",").map((name) => name.trim()))].filter((name) => name !== "");
  if (names.length > CHOSEN_MAX) {
    throw new RangeError(`At most ${CHOSEN_MAX} prompts can be tools of their own, got ${names.length}.`);
  }
  const isSound = (name: string) => SLUG_NAME_FORM.test(name.toLowerCase());
  const malformed = names.filter((name) => !isSound(name)).map(malformedName);
  if (label === null || label === "") return { names: names.filter(isSound), label: null, faults: malformed };
  if (LABEL_FORM.test(label)) return { names: names.filter(isSound), label, faults: malformed };
  // Without the label, these names would resolve to versions that nobody chose.
  const ownLabels = names.filter((name) => isSound(name) && name.includes("@"));
  return { names: ownLabels, label: null, faults: [...malformed, malformedLabel(label)] };
}

function malformedName(name: string): string {
  return `"${printable(name)}" is neither a slug nor a slug with a label, such as tea-poem or tea-poem@production.`;
}

function malformedLabel(label: string): string {
  return `The label must be 1 to 40 letters a-z, digits, and hyphens, starting with a letter, got "${printable(label)}". It chooses no prompts.`;
}

export function isEmpty({ names, label }: Pick<PromptChoice, "names" | "label">): boolean {
  return names.length === 0 && label === null;
}
