import { outputTokensOf, type Catalogue, type StepPlan } from "../../models/index.ts";
import type { InputField, PromptDefinition, StepDefinition } from "../prompt-definition.ts";
import { renderStep } from "../template/render-step.ts";
import { currentRunOptions, defaultsOf, type StepModel } from "./run-options.ts";

/** What planning needs of a version. */
export interface PlannedVersion {
  readonly model: string;
  readonly definition: PromptDefinition;
}

/** Assumed size of an unknown text, for estimates. */
const ESTIMATED_INPUT_BYTES = 200;

/**
 * Selects the run options for one step, with defaults filled in. Steps with the prompt's own model use the caller's
 * choices; steps with another model use the author's. An option that the caller leaves at the prompt's default,
 * explicitly or not, does not override the author's choice for this step.
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

/** The options of a step when the caller chooses none. */
function authorsOptions({ model, options }: StepModel, catalogue: Catalogue): Record<string, string> {
  const entry = catalogue.find(model);
  return entry === null ? { ...options } : defaultsOf(currentRunOptions(entry, options));
}

/**
 * Plans the most that each step can cost, for the hold. Renders all steps, with empty texts for earlier outputs.
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

/** Plans what each step usually costs: the raw templates, plus the default or 200 characters for each input. */
export function planTypicalSteps(version: PlannedVersion, catalogue: Catalogue): StepPlan[] {
  const inputBytes = version.definition.inputs.reduce((sum, input) => sum + typicalBytes(input), 0);
  return version.definition.steps.map((step, index) => {
    const messages = (step.messages ?? []).map(({ template }) => template);
    const texts = [step.template, step.instructions, ...messages, schemaText(step)];
    const textBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), inputBytes);
    return planStep(step, index, { version, catalogue, runOptions: {}, textBytes });
  });
}

/** The model reads the schema too. */
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
