import type { PromptConfig } from "@promptd/contract";
import { availability, unavailableSentence, type Catalogue, type CatalogueEntry } from "../../models/index.ts";
import type { StepDefinition, StoredConfig } from "../prompt-definition.ts";

type RunOptions = PromptConfig["runOptions"];
/** What is needed of a step besides its texts. */
export type StepModel = Pick<StepDefinition, "model" | "options" | "webSearch" | "fallback">;

/**
 * Lists the options a model has now, each with its default: the author's choice if the model still has it, otherwise
 * the catalogue's. Models change after a prompt is published; the same rule decides what callers are shown, what their
 * runs are checked against, and what they are charged.
 */
export function currentRunOptions(
  entry: Pick<CatalogueEntry, "runOptions">,
  chosen: Readonly<Record<string, string>>,
): RunOptions {
  return Object.fromEntries(
    Object.entries(entry.runOptions).map(([key, option]) => {
      const options = Object.keys(option.values);
      const authors = Object.hasOwn(chosen, key) ? chosen[key] : undefined;
      const isStillOffered = authors !== undefined && options.includes(authors);
      return [key, { default: isStillOffered ? authors : (option.default ?? null), options }];
    }),
  );
}

/** The run options of a published version: its model's options, with the author's choices for the last step. */
export function publicRunOptions(config: StoredConfig, steps: readonly StepModel[], catalogue: Catalogue): RunOptions {
  const entry = catalogue.find(config.model);
  // A model that left the catalogue cannot run, but the prompt stays readable as it was published.
  return entry === null ? config.runOptions : currentRunOptions(entry, steps.at(-1)?.options ?? {});
}

/**
 * Tells callers that their inputs may reach a search engine, and the most searches that a run pays for. Like options,
 * it depends on the models: a fallback that left the catalogue is not called.
 */
export function currentWebSearch(steps: readonly StepModel[], catalogue: Catalogue): Pick<StoredConfig, "webSearch"> {
  const searching = steps.filter(({ webSearch }) => webSearch !== undefined);
  if (searching.length === 0) return {};
  const most = ({ model, fallback = [] }: StepModel): number =>
    Math.max(...[model, ...fallback].map((name) => catalogue.find(name)?.webSearch?.searchesMax ?? 0));
  return { webSearch: { searchesMax: searching.reduce((sum, step) => sum + most(step), 0) } };
}

/** The values that apply when the caller chooses none. An option without a default is left to the provider. */
export function defaultsOf(runOptions: RunOptions): Record<string, string> {
  const pairs = Object.entries(runOptions).map(([key, option]) => [key, option.default] as const);
  return Object.fromEntries(pairs.filter((pair): pair is readonly [string, string] => pair[1] !== null));
}

/**
 * Finds the first model of the steps that new runs cannot use, and why; null: there is none. A model that left the
 * catalogue counts as retired, since its price is unknown.
 */
export function findGoneModel(
  steps: readonly StepModel[],
  catalogue: Catalogue,
): { readonly model: string; readonly why: string } | null {
  for (const { model } of steps) {
    const found = availability(catalogue, model);
    if (found.kind === "retired" || found.kind === "unknown") return { model, why: unavailableSentence(model, found) };
  }
  return null;
}
