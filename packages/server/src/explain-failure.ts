import { CatalogueError } from "./models/index.ts";
import { ConfigError } from "./platform/config/config.ts";
import { Problem } from "./platform/problem.ts";
import { PromptFileError } from "./prompts/index.ts";
import { StartFailure } from "./start-failure.ts";

const EXPECTED = [ConfigError, Problem, PromptFileError, CatalogueError, StartFailure];

/** Explains a failure that is not a bug (invalid settings, a rejected action, a faulty file); else null. */
export function explainFailure(error: unknown): string | null {
  return error instanceof Error && EXPECTED.some((kind) => error instanceof kind) ? error.message : null;
}
