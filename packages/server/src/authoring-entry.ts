/**
 * What an author can do without a server or database: check, preview, and compare prompt files. Entry
 * "@promptd/server/authoring".
 */
import type { PromptPreview } from "@promptd/contract/manage";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callDirectly, openAdapter, type Catalogue, type DirectRequest } from "./models/index.ts";
import { systemClock } from "./platform/clock.ts";
import { createLog } from "./platform/log.ts";
import { readConfig, type Config, type Environment } from "./platform/config/config.ts";
import { diffPrompts, type PromptDiff } from "./prompts/authoring/diff-prompts.ts";
import { importChecked, type CheckedImport } from "./prompts/authoring/import-checked.ts";
import { previewPrompt, type PreviewRequest } from "./prompts/authoring/preview-prompt.ts";
import { tryPrompt, type TrialResult } from "./prompts/authoring/try-prompt.ts";
import { validatePrompts, type Validation } from "./prompts/authoring/validate-prompts.ts";
import { findPromptOf, titlesOf, type PromptLimits } from "./prompts/checks/parse-prompt-file.ts";
import type { ForeignFormat } from "./prompts/format/foreign-format.ts";
import { parsePromptFile, type PromptFile, type PromptSource } from "./prompts/index.ts";
import { Problem } from "./platform/problem.ts";
import { loadCatalogueOf } from "./read-catalogue.ts";

export interface TestedPrompt {
  readonly title: string;
  readonly model: string;
  readonly results: readonly TrialResult[];
}

export type { CheckedImport, PromptDiff, PromptFile, TrialResult };
export { promptFileSchema } from "./prompts/format/field-schema.ts";
export { FOREIGN_FORMATS } from "./prompts/format/foreign-format.ts";
export { explainFailure } from "./explain-failure.ts";

/** Works with one installation's settings: its models, and the most that a run may hold. */
export class Authoring {
  readonly #catalogue: Catalogue;
  readonly #limits: PromptLimits;
  readonly #secret: Config["secret"];

  /** @throws ConfigError or CatalogueError with every error. */
  constructor(environment: Environment) {
    const config = readConfig(environment);
    this.#catalogue = loadCatalogueOf(config);
    this.#catalogue.useEnabled(this.#catalogue.enabledHere(), []);
    this.#limits = { holdMaxCredits: config.PROMPTD_HOLD_MAX_CREDITS };
    this.#secret = config.secret;
  }

  check({ text }: PromptFile): Validation {
    return validatePrompts(text, this.#catalogue, this.#limits);
  }

  /** @param title null: the file contains one prompt. */
  preview(file: PromptFile, request: PreviewRequest, title: string | null): PromptPreview {
    return previewPrompt(this.#sourceOf(file, title), request, this.#catalogue);
  }

  /**
   * Runs the samples and tests of every prompt in a file against the models, one after another. No credits are charged,
   * but providers bill their calls.
   * @param readImage reads an image that a test names.
   */
  async test(
    file: PromptFile,
    readImage: (path: string) => Promise<Uint8Array>,
    signal: AbortSignal,
  ): Promise<TestedPrompt[]> {
    const sources = parsePromptFile(file.text, this.#catalogue, this.#limits);
    const adapter = await this.#openModels();
    const ports = this.#ports(adapter, readImage, signal);
    try {
      const tested: TestedPrompt[] = [];
      for (const source of sources) {
        const results: TrialResult[] = [];
        for (const test of source.tests) results.push(await tryPrompt(source, test, ports));
        tested.push({ title: source.title, model: source.model, results });
      }
      return tested;
    } finally {
      await adapter.close();
    }
  }

  #ports(
    adapter: Parameters<typeof callDirectly>[0],
    readImage: (path: string) => Promise<Uint8Array>,
    signal: AbortSignal,
  ) {
    const entryOf = (model: string) => {
      const entry = this.#catalogue.find(model);
      if (entry !== null && this.#catalogue.isEnabled(model)) return entry;
      throw new Problem(
        "VALIDATION_ERROR",
        `The model ${model} is not available with these settings. Check that its key is set.`,
      );
    };
    return {
      catalogue: this.#catalogue,
      call: (model: string, request: DirectRequest) => callDirectly(adapter, entryOf(model), request, signal),
      loadImages: async (model: string, paths: readonly string[]) => {
        const { prepareForModel } = await import("./files/inputs/decode.ts");
        const limits = entryOf(model).inputs?.images;
        if (limits === undefined) return [];
        const sizes = { bytesMax: limits.bytes, sideMax: limits.maxSide };
        return Promise.all(paths.map(async (path) => prepareForModel(await readImage(path), sizes)));
      },
    };
  }

  async #openModels() {
    const { createSpool } = await import("./files/index.ts");
    const spool = createSpool(join(tmpdir(), "promptd-test"));
    const log = createLog("error", "stderr");
    return openAdapter({ catalogue: this.#catalogue, secret: this.#secret, clock: systemClock, log, spool });
  }

  /**
   * Converts a file of another tool into prompt files, each with the faults that publishing would still reject.
   * @throws Problem VALIDATION_ERROR when the file is not of this format.
   */
  import(file: PromptFile, format: ForeignFormat): CheckedImport[] {
    return importChecked(file, format, this.#catalogue, this.#limits);
  }

  diff(before: PromptFile, after: PromptFile): PromptDiff {
    return diffPrompts(this.#sourceOf(before, null), this.#sourceOf(after, null), this.#catalogue);
  }

  /** @throws PromptFileError; Problem VALIDATION_ERROR when it is not clear which prompt is meant. */
  #sourceOf({ name, text }: PromptFile, title: string | null): PromptSource {
    const sources = parsePromptFile(text, this.#catalogue, this.#limits);
    const source = findPromptOf(sources, title);
    if (source !== null) return source;
    const message = `${name} contains ${sources.length} prompts (${titlesOf(sources)}). Name one with --prompt.`;
    throw new Problem("VALIDATION_ERROR", message);
  }
}
