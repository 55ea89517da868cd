/**
 * What an author does without a server and without a database: check, preview and compare prompt files. Entry
 * "@promptd/server/authoring".
 */
import { CatalogueError, type Catalogue } from "./models/index.ts";
import { ConfigError, readConfig } from "./platform/config/config.ts";
import {
  diffPrompts,
  importPrompts,
  previewPrompt,
  validatePrompts,
  type ForeignFormat,
  type ImportedFile,
  type Preview,
  type PreviewRequest,
  type PromptDiff,
  type Validation,
} from "./prompts/authoring/authoring.ts";
import { parsePromptFile, PromptFileError, type PromptSource } from "./prompts/index.ts";
import { Problem } from "./platform/problem.ts";
import { loadCatalogueOf } from "./read-catalogue.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface NamedText {
  readonly name: string;
  readonly text: string;
}

export { FOREIGN_FORMATS } from "./prompts/authoring/authoring.ts";

/** Text for the author of a failure that is no bug: a faulty file, bad settings; else null. */
export function explainAuthorFailure(error: unknown): string | null {
  const isExpected =
    error instanceof PromptFileError ||
    error instanceof Problem ||
    error instanceof ConfigError ||
    error instanceof CatalogueError;
  return isExpected ? error.message : null;
}

/** Of one installation's settings: its models, and the most that a run may hold. */
export class Authoring {
  readonly #catalogue: Catalogue;
  readonly #creditsMax: number;

  /** @throws ConfigError, CatalogueError with every fault. */
  constructor(environment: Environment) {
    const config = readConfig(environment);
    this.#catalogue = loadCatalogueOf(config);
    this.#catalogue.useEnabled(this.#catalogue.enabledHere(), []);
    this.#creditsMax = config.PROMPTD_HOLD_MAX_CREDITS;
  }

  check({ text }: NamedText): Validation {
    return validatePrompts(text, this.#catalogue, { creditsMax: this.#creditsMax });
  }

  /** @param title null: the file holds one prompt. */
  preview(file: NamedText, request: PreviewRequest, title: string | null): Preview {
    return previewPrompt(this.#sourceOf(file, title), request, this.#catalogue);
  }

  /**
   * Prompt files out of a file of another tool, each with what publishing would still refuse.
   * @throws Problem VALIDATION_ERROR when the file is not of this format.
   */
  import(file: NamedText, format: ForeignFormat): (ImportedFile & { readonly faults: string })[] {
    return importPrompts(file, format, this.#catalogue).map((made) => ({ ...made, faults: this.check(made).message }));
  }

  diff(before: NamedText, after: NamedText): PromptDiff {
    return diffPrompts(this.#sourceOf(before, null), this.#sourceOf(after, null), this.#catalogue);
  }

  /** @throws PromptFileError; Problem VALIDATION_ERROR when it is not clear which prompt is meant. */
  #sourceOf({ name, text }: NamedText, title: string | null): PromptSource {
    const sources = parsePromptFile(text, this.#catalogue, { creditsMax: this.#creditsMax });
    const found =
      title === null ? sources : sources.filter((source) => source.title === title || source.slug === title);
    const [source, ...others] = found;
    if (source !== undefined && others.length === 0) return source;
    const titles = sources.map((each) => `"${each.title}"`).join(", ");
    throw new Problem(
      "VALIDATION_ERROR",
      `${name} holds ${sources.length} prompts (${titles}): name one with --prompt.`,
    );
  }
}
