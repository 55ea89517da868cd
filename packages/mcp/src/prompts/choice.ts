import { LABEL_FORM, printable, SLUG_NAME_FORM } from "@promptd/contract";

/** Which prompts become tools of their own: those of a list, or those of the account that carry a label. */
export interface PromptChoice {
  /** Slugs, each with a label behind an @ where its own is wanted. */
  readonly names: readonly string[];
  /** For names without one. Without names: the account's own prompts that carry it. Null: the latest versions. */
  readonly label: string | null;
  /** A sentence for each part that was left out because it cannot name anything; the other parts hold. */
  readonly faults: readonly string[];
}

/** More would fill the context of a model with descriptions, and clients cut long lists. */
const CHOSEN_MAX = 40;

/** @throws RangeError for more prompts than can be tools. */
export function readChoice(list: string | null, label: string | null): PromptChoice {
  const names = [...new Set((list ?? "").split(",").map((name) => name.trim()))].filter((name) => name !== "");
  if (names.length > CHOSEN_MAX) {
    throw new RangeError(`At most ${CHOSEN_MAX} prompts can be tools of their own, ${names.length} were chosen.`);
  }
  const isSound = (name: string) => SLUG_NAME_FORM.test(name.toLowerCase());
  const malformed = names.filter((name) => !isSound(name)).map(malformedName);
  if (label === null || label === "") return { names: names.filter(isSound), label: null, faults: malformed };
  if (LABEL_FORM.test(label)) return { names: names.filter(isSound), label, faults: malformed };
  // Without their label they would lead to versions that nobody chose.
  const ownLabels = names.filter((name) => isSound(name) && name.includes("@"));
  return { names: ownLabels, label: null, faults: [...malformed, malformedLabel(label)] };
}

function malformedName(name: string): string {
  return `"${printable(name)}" is neither a slug nor a slug with a label, such as tea-poem or tea-poem@production.`;
}

function malformedLabel(label: string): string {
  return `The label must be 1 to 40 letters a-z, digits, and hyphens, starting with a letter, got "${printable(label)}". It chooses no prompt.`;
}

export function isEmpty({ names, label }: Pick<PromptChoice, "names" | "label">): boolean {
  return names.length === 0 && label === null;
}
