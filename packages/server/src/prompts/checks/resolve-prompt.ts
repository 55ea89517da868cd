import { countOf } from "@promptd/contract";
import type { OutputItem, PromptSamples } from "@promptd/contract";
import { Problem } from "../../platform/problem.ts";
import { priceCeiling, schemaFault, type Catalogue } from "../../models/index.ts";
import { bindRoles, describeRoles } from "./bind-roles.ts";
import { resolveSteps } from "./check-models.ts";
import { checkTemplates } from "./check-templates.ts";
import { valueProblem } from "../text-input-rules.ts";
import type { FaultList } from "../prompt-fault.ts";
import type { InputField, PromptSource, PromptTest, StepDefinition } from "../prompt-definition.ts";
import { ONLY_STEP, type RawPrompt, type RawSample, type RawStep } from "../format/prompt-fields.ts";
import { slugOfTitle } from "./prompt-slug.ts";
import { prepareStep, renderStep } from "../template/render-step.ts";
import { placeholderValues } from "../inputs/placeholder-values.ts";
import { planSteps, type PlannedVersion } from "../inputs/step-plans.ts";
import { reasonOf } from "../../platform/reason-of.ts";
import type { SlicedWork } from "../../platform/time-slice.ts";

export interface ResolveOptions {
  readonly catalogue: Catalogue;
  /** A run that could cost more than this is treated as the author's mistake. */
  readonly holdMaxCredits: number;
  /** False: nobody reads the warnings, and what roles cost over all their models need not be computed. */
  readonly isDescribed: boolean;
  /** What the file's other prompts leave of RENDERINGS_WORK_MAX. */
  readonly file: { workLeft: number };
}

/**
 * Work for one file, whose prompts are all rendered with default values and with each sample. This much takes 0.4 to
 * 0.7 s; 150 prompts with loops and ten samples each, in 436 KiB, took 32 s (2026-11-28). One prompt has at most 110,000;
 * 5,000 prompts as large as the largest seed prompt have 90,000 with one sample each.
 */
export const RENDERINGS_WORK_MAX = 200_000;

/**
 * Checks one prompt completely.
 * @returns the prompt, or null if it added at least one fault to `faults`.
 */
export function* resolvePrompt(
  written: RawPrompt,
  faults: FaultList,
  options: ResolveOptions,
): SlicedWork<PromptSource | null> {
  const before = faults.faults.length;
  const warnings: string[] = [];
  const { raw, roleOf } = bindRoles(written, options.catalogue);
  const checked = yield* checkTemplates(raw, stepsOf(raw), faults);
  const resolved = resolveSteps(checked.steps, { prompt: raw, catalogue: options.catalogue, faults, warnings });
  const steps = resolved.map((step) => {
    const role = roleOf(step);
    return role === undefined ? step : { ...step, role };
  });
  const version: PlannedVersion = {
    model: raw.model,
    definition: { inputs: checked.inputs, images: raw.images, steps },
  };
  checkSamples(raw, checked.inputs, faults);
  checkExpectations(raw, faults);
  const entry = options.catalogue.find(raw.model);
  checkLength(version, raw, faults);
  if (faults.faults.length > before || entry === null) return null;
  if (isRenderable(checked.work, raw, faults, options)) yield* tryRendering(version, raw, faults, options);
  if (faults.faults.length > before) return null;
  return {
    promptId: raw.id,
    title: raw.title,
    slug: raw.slug ?? slugOfTitle(raw.title),
    slugGiven: raw.slug !== null,
    description: raw.description,
    tags: raw.tags,
    model: raw.model,
    modality: entry.modality,
    definition: version.definition,
    samples: publicSamples(raw.samples[0], entry.modality),
    tests: testsOf(raw),
    text: null,
    line: raw.line,
    conversions: checked.conversions,
    warnings: [...warnings, ...checked.warnings],
    notes: options.isDescribed ? describeRoles(version.definition, options.catalogue) : [],
  };
}

/**
 * Each text has its own limit, but a prompt with many long messages or choices could still fill the version cache
 * alone.
 */
const PROMPT_LENGTH_MAX = 4_000_000;

function checkLength({ definition }: PlannedVersion, raw: RawPrompt, faults: FaultList): void {
  const { length } = JSON.stringify(definition);
  if (length <= PROMPT_LENGTH_MAX) return;
  const [is, most] = [length.toLocaleString("en"), PROMPT_LENGTH_MAX.toLocaleString("en")];
  const message = `the prompt is ${is} characters long, including all its texts, choices, and defaults; the limit is ${most}`;
  faults.add({ line: raw.line, field: "prompt", code: "LIMITS", message });
}

/**
 * A prompt without steps becomes one step. With steps, the top level's instructions apply to all of them, its fallback
 * to steps with the prompt's model, and everything else to the last step.
 */
function stepsOf(raw: RawPrompt): RawStep[] {
  const { instructions, maxOutputTokens, count, settings, messages, outputSchema, webSearch, fallback } = raw;
  const call = { instructions, maxOutputTokens, count, settings, messages, outputSchema, webSearch, fallback };
  if (raw.steps === null) {
    const only = { id: ONLY_STEP, line: raw.line, lineOf: () => null, model: null, options: {}, images: null };
    return [{ ...only, ...call, template: raw.template }];
  }
  const last = raw.steps.length - 1;
  return raw.steps.map((step, index) => ({
    ...step,
    instructions: step.instructions ?? instructions,
    maxOutputTokens: step.maxOutputTokens ?? (index === last ? maxOutputTokens : null),
    count: step.count ?? (index === last ? count : null),
    settings: index === last && settings !== null ? { ...settings, ...step.settings } : step.settings,
    messages: step.messages ?? (index === last ? messages : null),
    outputSchema: step.outputSchema ?? (index === last ? outputSchema : null),
    webSearch: step.webSearch ?? (index === last ? webSearch : null),
    fallback: step.fallback ?? (step.model === null || step.model === raw.model ? fallback : null),
  }));
}

function checkSamples(raw: RawPrompt, inputs: readonly InputField[], faults: FaultList): void {
  const named = [
    ...raw.samples.map((sample, index) => ({ sample, field: `samples[${index + 1}]` })),
    ...raw.tests.map((sample, index) => ({ sample, field: `tests[${index + 1}]` })),
  ];
  for (const { sample, field } of named) {
    for (const [key, value] of Object.entries(sample.textInputs)) {
      const input = inputs.find((each) => each.key === key);
      const problem = input === undefined || value.trim() === "" ? null : valueProblem(input, value);
      const message = input === undefined ? "is not an input of this prompt" : problem?.text;
      if (message !== undefined) faults.addField(sample.lineOf("inputs", key), `${field}.inputs.${key}`, message);
    }
    if (sample.images.length > 0 && sample.images.length !== raw.images.length)
      faults.addField(
        sample.lineOf("images"),
        `${field}.images`,
        `has ${countOf(sample.images.length, "image")}; the prompt expects ${raw.images.length}`,
      );
  }
}

/** Otherwise the test would fail with an internal error instead of a result. */
function checkExpectations({ tests }: RawPrompt, faults: FaultList): void {
  for (const [index, { expect, lineOf }] of tests.entries()) {
    const fault = expect.schema === undefined ? null : schemaFault(expect.schema);
    if (fault !== null)
      faults.addField(lineOf("expect"), `tests[${index + 1}].expect.schema`, `cannot be used: ${fault}`);
  }
}

/** False from the first prompt that exceeds the limit; only that prompt gets the fault. */
function isRenderable(work: number, raw: RawPrompt, faults: FaultList, { file }: ResolveOptions): boolean {
  const wasLeft = file.workLeft;
  file.workLeft -= work * (1 + raw.samples.length);
  if (wasLeft >= 0 && file.workLeft < 0) {
    const most = RENDERINGS_WORK_MAX.toLocaleString("en");
    const message = `the prompts of this file up to this one have more than ${most} outputs, tags, and filters in total, counted again for each sample. Split the file into several`;
    faults.add({ line: raw.line, field: "prompt", code: "LIMITS", message });
  }
  return file.workLeft >= 0;
}

/** Renders with default values and with every sample: what fails here would fail in a run. */
function* tryRendering(
  version: PlannedVersion,
  raw: RawPrompt,
  faults: FaultList,
  { catalogue, holdMaxCredits }: ResolveOptions,
): SlicedWork<void> {
  for (const [index, sample] of [null, ...raw.samples].entries()) {
    const values = placeholderValues(version.definition.inputs, sample?.textInputs);
    const name = sample === null ? "default values" : `sample ${index}`;
    const location = (step: StepDefinition | null) =>
      sample === null ? placeOfStep(raw, step) : { line: sample.line, field: `samples[${index}]` };
    let rendering: StepDefinition | null = null;
    try {
      for (const [position, step] of version.definition.steps.entries()) {
        rendering = step;
        yield* prepareStep(step);
        renderStep(version, position, values, {});
        yield;
      }
      const plans = planSteps(version, values, {}, catalogue);
      const { credits } = priceCeiling(catalogue, plans, version.model);
      if (credits <= holdMaxCredits) continue;
      const message = `a run with ${name} could cost ${credits} credits; the limit is ${holdMaxCredits}. Lower maxOutputTokens or count.`;
      faults.add({ ...location(null), code: "RENDER", message });
    } catch (error) {
      const message = `cannot be rendered with ${name}: ${reasonOf(error)}`;
      faults.add({ ...location(rendering), code: "RENDER", message });
      if (!(error instanceof Problem) && !isLiquidError(error)) throw error;
    }
  }
}

/** The location of a step's text; for the whole prompt (null) the model, which determines the price. */
function placeOfStep(raw: RawPrompt, step: StepDefinition | null): { line: number | null; field: string } {
  if (step === null) return { line: raw.lineOf("model"), field: "model" };
  const written = raw.steps?.find((each) => each.id === step.id);
  const field = written === undefined ? "template" : `steps.${step.id}.template`;
  return { line: (written ?? raw).template?.line ?? raw.line, field };
}

function isLiquidError(error: unknown): boolean {
  return error instanceof Error && "token" in error;
}

function testsOf({ samples, tests }: RawPrompt): PromptTest[] {
  const tries = samples.map(({ textInputs, images }, index) => ({
    name: `sample ${index + 1}`,
    textInputs,
    options: {},
    images,
    expect: {},
  }));
  return [...tries, ...tests.map(({ line: _line, lineOf: _lineOf, ...test }) => test)];
}

function publicSamples(sample: RawSample | undefined, modality: OutputItem["type"]): PromptSamples {
  return {
    inputs: {
      textInputs: sample?.textInputs ?? {},
      imageInputs: (sample?.images ?? []).map((url) => ({ type: "url", url })),
    },
    outputs: (sample?.outputs ?? []).map(({ type, data }) => ({ type: type ?? modality, data })),
  };
}
