import { outputTokensOf, type Catalogue, type StepPlan } from "../../models/index.ts";
import type { InputField, PromptDefinition, StepDefinition } from "../prompt-definition.ts";
import { renderStep } from "../template/render-step.ts";
import { currentRunOptions, defaultsOf, type StepModel } from "./run-options.ts";

/** What planning needs of a version. */
export interface PlannedVersion {
  readonly model: string;
  readonly definition: PromptDefinition;
}

/** Size of a text that is not known yet, in estimates. */
const ESTIMATED_INPUT_BYTES = 200;

/**
 * The run options one step is called with, defaults filled in. Steps of the prompt's own model follow the caller; a
 * step of another model has the author's choice. An option the caller leaves at the prompt's default, said or unsaid,
 * does not override what the author chose for this very step.
 * @param runOptions as checkInputs filled them.
 */
export function stepOptions(
  version: PlannedVersion,
  stepIndex: number,
  runOptions: Readonly<Record<string, string>>,
  catalogue: Catalogue,
): Record<string, string> {
  const step = version.definition.steps[stepIndex];
  if (step === undefined) throw new RangeError(`There is no step ${stepIndex}.`);
  const chosen = authorsOptions(step, catalogue);
  if (step.model !== version.model) return chosen;
  const defaults = authorsOptions(version.definition.steps.at(-1) ?? step, catalogue);
  for (const [key, value] of Object.entries(runOptions)) if (value !== defaults[key]) chosen[key] = value;
  return chosen;
}

/** What a step is called with when the caller says nothing. */
function authorsOptions({ model, options }: StepModel, catalogue: Catalogue): Record<string, string> {
  const entry = catalogue.find(model);
  return entry === null ? { ...options } : defaultsOf(currentRunOptions(entry, options));
}

/**
 * What every step may cost at most, for the hold: all steps rendered, with empty texts for earlier outputs.
 * @throws Problem VALIDATION_ERROR when a rendered text is too long.
 */
export function planSteps(
  version: PlannedVersion,
  textInputs: Readonly<Record<string, string>>,
  runOptions: Readonly<Record<string, string>>,
  catalogue: Catalogue,
): StepPlan[] {
  return version.definition.steps.map((step, index) => {
    const { prompt, instructions, messages = [] } = renderStep(version, index, textInputs, {});
    const texts = [prompt, instructions, ...messages.map(({ text }) => text), schemaText(step)];
    const textBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return planStep(step, index, { version, catalogue, runOptions, textBytes });
  });
}

/** What every step usually costs: the templates as they are, with defaults or 200 characters for what callers will give. */
export function planTypicalSteps(version: PlannedVersion, catalogue: Catalogue): StepPlan[] {
  const inputBytes = version.definition.inputs.reduce((sum, input) => sum + typicalBytes(input), 0);
  return version.definition.steps.map((step, index) => {
    const messages = (step.messages ?? []).map(({ template }) => template);
    const texts = [step.template, step.instructions, ...messages, schemaText(step)];
    const textBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), inputBytes);
    return planStep(step, index, { version, catalogue, runOptions: {}, textBytes });
  });
}

/** A schema is a part of what the model reads. */
function schemaText({ outputSchema }: StepDefinition): string {
  return outputSchema === undefined ? "" : JSON.stringify(outputSchema);
}

function typicalBytes(input: InputField): number {
  return input.default === null ? ESTIMATED_INPUT_BYTES : Buffer.byteLength(input.default);
}

interface PlanContext {
  readonly version: PlannedVersion;
  readonly catalogue: Catalogue;
  readonly runOptions: Readonly<Record<string, string>>;
  readonly textBytes: number;
}

function planStep(step: StepDefinition, index: number, context: PlanContext): StepPlan {
  const { version, catalogue, runOptions, textBytes } = context;
  const readsTokens = version.definition.steps
    .map((other) => (step.reads.includes(other.id) ? outputTokensOf(catalogue, other) : 0))
    .reduce((sum, tokens) => sum + tokens, 0);
  const { model, maxOutputTokens, count } = step;
  return {
    model,
    options: stepOptions(version, index, runOptions, catalogue),
    maxOutputTokens,
    count,
    images: step.images.length,
    textBytes,
    readsTokens,
    fallback: step.fallback ?? [],
    searchesWeb: step.webSearch !== undefined,
  };
}
