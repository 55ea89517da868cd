/** Checks a file before it is published. Stores nothing and needs no database. */
import type { CheckedPrompt, PromptFileCheck, PromptTestCase } from "@promptd/contract/manage";
import type { Catalogue } from "../../models/index.ts";
import { runAtOnce, type SlicedWork } from "../../platform/time-slice.ts";
import type { PromptSource, PromptTest } from "../prompt-definition.ts";
import { PromptFileError, type PromptFault } from "../prompt-fault.ts";
import { readPrompts, type PromptLimits } from "../checks/parse-prompt-file.ts";
import { buildConfig } from "../publishing/prompt-config.ts";
import { usualPrice } from "./prompt-price.ts";

/** A prompt's `promptId` is the id in the file. */
export interface Validation extends Omit<PromptFileCheck, "faults" | "testRuns"> {
  /** By line. Empty: the file can be published. */
  readonly faults: readonly PromptFault[];
}

export function validatePrompts(text: string, catalogue: Catalogue, limits: PromptLimits = {}): Validation {
  return runAtOnce(validateInSlices(text, catalogue, limits));
}

/** The same on a server, where a large file would block all other work for a second. */
export function* validateInSlices(text: string, catalogue: Catalogue, limits: PromptLimits): SlicedWork<Validation> {
  const { sources, faults } = yield* readPrompts(text, catalogue, limits);
  const error = new PromptFileError(faults);
  const prompts: CheckedPrompt[] = [];
  for (const source of sources) {
    prompts.push(describePrompt(source, catalogue));
    yield;
  }
  return {
    prompts,
    faults: error.faults,
    message: error.message,
  };
}

function describePrompt(source: PromptSource, catalogue: Catalogue): CheckedPrompt {
  const { title, slug, promptId, definition, model } = source;
  const price = usualPrice(source, catalogue);
  return {
    title,
    slug,
    promptId,
    config: {
      ...buildConfig(definition, catalogue, model),
      estimatedCredits: price.typical,
      creditsRequired: price.most,
    },
    price,
    warnings: warningsOf(source),
    notes: source.notes,
    tests: source.tests.map(describeTest),
  };
}

function describeTest({ name, textInputs, options, images, expect }: PromptTest): PromptTestCase {
  return { name, textInputs, runOptions: options, images: images.length, expects: Object.keys(expect) };
}

/** What an author should know about a prompt without faults. */
export function describeSource(source: PromptSource): string[] {
  return [...warningsOf(source), ...source.notes];
}

function warningsOf({ title, warnings, conversions }: PromptSource): string[] {
  const rewritten = conversions.map(({ line, from, to }) => `line ${line}: ${from} was rewritten to ${to}`);
  // The titles of the templates for new prompts.
  const untitled = `The title is still "${title}". Callers choose a prompt by its title, so say there what it makes.`;
  return [...(/^untitled\b/i.test(title) ? [untitled] : []), ...warnings, ...rewritten];
}
