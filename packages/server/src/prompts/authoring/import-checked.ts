/** Converts prompts of other tools into files that can be published, or that list in comments what is left to fix. */
import type { Catalogue } from "../../models/index.ts";
import type { ForeignFormat } from "../format/foreign-format.ts";
import type { PromptFile } from "../format/prompt-file.ts";
import { importPrompts } from "../import/import-prompts.ts";
import type { ImportedFile } from "../import/imported-prompt.ts";
import type { PromptLimits } from "../checks/parse-prompt-file.ts";
import { validatePrompts } from "./validate-prompts.ts";

export interface CheckedImport extends ImportedFile {
  /**
   * The faults that prevent publishing, one per line, also in the file's comments. Empty: the file can be published.
   */
  readonly faults: string;
}

/** @throws Problem VALIDATION_ERROR when the file is not of this format. */
export function importChecked(
  file: PromptFile,
  format: ForeignFormat,
  catalogue: Catalogue,
  limits: PromptLimits,
): CheckedImport[] {
  const check = (text: string): string => validatePrompts(text, catalogue, limits).message;
  return importPrompts(file, format, catalogue).map((made) => {
    const faults = check(made.text);
    if (faults === "") return { ...made, faults };
    // Checked again, because the added comments shift the lines that the faults name.
    const shifted = check(withComments(made.text, faults));
    return { ...made, text: withComments(made.text, shifted), faults: shifted };
  });
}

/** Adds the faults after the file's own comments. */
function withComments(text: string, faults: string): string {
  const lines = faults.split("\n").map((fault) => `# - ${fault}\n`);
  const comments = `# Fix before publishing:\n${lines.join("")}`;
  return text.replace(/^---\n(?:#.*\n)*/, (head) => head + comments);
}
