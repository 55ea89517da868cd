/** Prompts of other tools as files that can be published, or that say in themselves what is still to be mended. */
import type { Catalogue } from "../../models/index.ts";
import type { ForeignFormat } from "../format/foreign-format.ts";
import type { PromptFile } from "../format/prompt-file.ts";
import { importPrompts } from "../import/import-prompts.ts";
import type { ImportedFile } from "../import/imported-prompt.ts";
import type { PromptLimits } from "../checks/parse-prompt-file.ts";
import { validatePrompts } from "./validate-prompts.ts";

export interface CheckedImport extends ImportedFile {
  /** What publishing would still refuse, one fault a line; also comments of the file. Empty: it can be published. */
  readonly faults: string;
}

/** @throws Problem VALIDATION_ERROR when the file is not of this format. */
export function importChecked(
  file: PromptFile,
  format: ForeignFormat,
  { catalogue, limits }: { readonly catalogue: Catalogue; readonly limits: PromptLimits },
): CheckedImport[] {
  const check = (text: string): string => validatePrompts(text, catalogue, limits).message;
  return importPrompts(file, format, catalogue).map((made) => {
    const faults = check(made.text);
    if (faults === "") return { ...made, faults };
    // Checked once more: the comments move the lines that faults name.
    const shifted = check(withComments(made.text, faults));
    return { ...made, text: withComments(made.text, shifted), faults: shifted };
  });
}

/** Behind the comments that the file has. */
function withComments(text: string, faults: string): string {
  const lines = faults.split("\n").map((fault) => `# - ${fault}\n`);
  const comments = `# To be mended before it can be published:\n${lines.join("")}`;
  return text.replace(/^---\n(?:#.*\n)*/, (head) => head + comments);
}
