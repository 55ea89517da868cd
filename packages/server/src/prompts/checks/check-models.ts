import { countOf } from "@promptd/contract";
import {
  availability,
  reasoningShortage,
  showsPrompt,
  unavailableSentence,
  type Catalogue,
  type CatalogueEntry,
} from "../../models/index.ts";
import { presentMembers } from "../../platform/json.ts";
import type { StepDefinition } from "../prompt-definition.ts";
import { suggestModels } from "./suggest-models.ts";
import { templatesOf, type CheckedStep } from "./check-templates.ts";
import { checkTextFields, madeBy, webSearchFault } from "./check-text-fields.ts";
import { ONLY_STEP, type RawPrompt, type RawStep } from "../format/prompt-fields.ts";
import type { FaultList } from "../prompt-fault.ts";

interface StepContext {
  readonly prompt: RawPrompt;
  readonly catalogue: Catalogue;
  readonly faults: FaultList;
  readonly warnings: string[];
}

/**
 * Turns checked steps into definitions. Checks that models exist, that images and options fit them, and that steps read
 * earlier texts.
 */
export function resolveSteps(steps: readonly CheckedStep[], context: StepContext): StepDefinition[] {
  const { prompt, catalogue } = context;
  checkModel(prompt.model, { line: prompt.lineOf("model"), field: "model" }, context);
  for (const { raw } of steps)
    if (raw.model !== null) checkModel(raw.model, locationOf("model", raw, context), context);
  const last = steps.at(-1)?.raw;
  if (last !== undefined && (last.model ?? prompt.model) !== prompt.model) {
    const message = `the last step must use the prompt's model ${prompt.model}, not ${last.model}`;
    refuse(context, locationOf("model", last, context), message);
  }
  const entry = catalogue.find(prompt.model);
  if (entry !== null) checkOptions(prompt.options, entry, null, context);
  const definitions = steps.map((step) => resolveStep(step, context));
  checkOrder(steps, definitions, context);
  // One fault about an unknown model is enough, since nothing is known about what it accepts or makes.
  if (definitions.every(({ model }) => catalogue.find(model) !== null)) checkSlotsUsed(definitions, context);
  return definitions;
}

interface FaultLocation {
  readonly line: number | null;
  readonly field: string;
}

/** Reports what a model does not allow. */
function refuse({ faults }: StepContext, location: FaultLocation, message: string): void {
  faults.add({ ...location, code: "MODEL", message });
}

/** Where a step's setting is written: in the step, or else at the top level. */
function locationOf(name: string, step: RawStep, { prompt }: StepContext): FaultLocation {
  const own = step.lineOf(name);
  if (own !== null) return { line: own, field: `steps.${step.id}.${name}` };
  return { line: prompt.lineOf(name) ?? step.line, field: name };
}

function checkModel(model: string, location: FaultLocation, context: StepContext): void {
  if (model === "") return; // its absence is already reported
  const found = availability(context.catalogue, model);
  const warn = (warning: string) => {
    if (!context.warnings.includes(warning)) context.warnings.push(warning);
  };
  if (found.kind === "unknown" || found.kind === "retired") {
    const why = unavailableSentence(model, found);
    const isExplained = found.kind === "unknown" && !context.faults.isLong;
    const message = isExplained ? `${why} ${suggestModels(model, context.catalogue)}` : why;
    refuse(context, location, message.charAt(0).toLowerCase() + message.slice(1));
    return;
  }
  const { entry } = found;
  if (found.ends !== null) warn(found.ends);
  if (found.kind === "disabled") warn(`${unavailableSentence(model, found)} Runs fail until it is.`);
  if (showsPrompt(entry)) warn(`${model} is a sandbox model: its outputs show the prompt text.`);
}

function resolveStep(step: CheckedStep, context: StepContext): StepDefinition {
  const { prompt, catalogue } = context;
  const { raw } = step;
  const model = raw.model ?? prompt.model;
  const entry = catalogue.find(model);
  const slots = raw.images ?? (entry?.inputs?.images === undefined ? [] : prompt.images.map((_, index) => index + 1));
  const messages = step.messages.map(({ role, template }) => ({ role, template: template.text }));
  const definition: StepDefinition = {
    id: raw.id,
    model,
    template: step.template.text,
    instructions: step.instructions.text,
    options: model === prompt.model ? { ...prompt.options, ...raw.options } : raw.options,
    images: slots.map((slot) => slot - 1),
    maxOutputTokens: raw.maxOutputTokens,
    count: raw.count ?? 1,
    reads: step.reads,
    ...presentMembers({
      settings: raw.settings,
      messages: step.messages.length === 0 ? null : messages,
      outputSchema: raw.outputSchema,
      webSearch: raw.webSearch === false ? null : raw.webSearch,
      fallback: raw.fallback === null ? null : [...new Set(raw.fallback)],
    }),
  };
  if (step.template.text.trim() === "" && step.template.facts.faults.length === 0) {
    const message = "the template is empty: write the prompt after the front matter";
    const line = raw.template?.line ?? raw.line;
    context.faults.add({ line, field: step.template.field, code: "TEMPLATE_SYNTAX", message });
  }
  if (entry !== null) checkStep(raw, definition, entry, context);
  return definition;
}

function checkStep(raw: RawStep, step: StepDefinition, entry: CatalogueEntry, context: StepContext): void {
  checkOptions(raw.options, entry, raw, context);
  checkTextFields(step, entry, (name, message) => refuse(context, locationOf(name, raw, context), message));
  checkStepImages(raw, step, entry, context);
  checkFallback(raw, step, entry, context);
  const fault = (name: string, message: string) =>
    context.faults.add({ ...locationOf(name, raw, context), code: "LIMITS", message });
  if (entry.modality !== "image" && step.count > 1)
    fault("count", `count works only with image models; ${entry.model} makes ${madeBy(entry)}`);
  const tokens = step.maxOutputTokens;
  if (tokens === null) return;
  const tokensMax = entry.limits.maxOutputTokens;
  if (entry.modality !== "text")
    fault("maxOutputTokens", `maxOutputTokens works only with text models; ${entry.model} makes ${madeBy(entry)}`);
  else if (tokens > tokensMax)
    fault("maxOutputTokens", `maxOutputTokens is ${tokens}; ${entry.model} returns at most ${tokensMax}`);
  else warnOfShortage(step, tokens, entry, context);
}

/** A fallback gets the same call, so it must accept and make the same. */
function checkFallback(raw: RawStep, step: StepDefinition, entry: CatalogueEntry, context: StepContext): void {
  const location = locationOf("fallback", raw, context);
  for (const model of step.fallback ?? []) {
    if (Object.hasOwn(context.catalogue.roles, model)) {
      refuse(context, location, `${model} is a role: name specific models here`);
      continue;
    }
    checkModel(model, location, context);
    const other = context.catalogue.find(model);
    const misfit = other === null ? null : misfitOf(other, step, entry, context);
    if (misfit !== null) refuse(context, location, misfit);
  }
}

/** Why a model cannot answer in place of the step's own model, or null. */
function misfitOf(other: CatalogueEntry, step: StepDefinition, own: CatalogueEntry, context: StepContext) {
  if (other.model === own.model) return `${other.model} is the model that it should replace: name another model`;
  if (other.modality !== own.modality)
    return `${other.model} makes ${madeBy(other)}, but ${own.model} makes ${madeBy(own)}`;
  const { masks, pictures } = countImages(step, context);
  return maskProblem(masks, pictures, other) ?? webSearchFault(step, other) ?? tooManyImages(pictures, other);
}

/** If reasoning uses up the limit, the run fails but the call is still paid for. */
function warnOfShortage(step: StepDefinition, tokens: number, entry: CatalogueEntry, context: StepContext): void {
  const shortage = reasoningShortage(entry, step);
  if (shortage === null) return;
  const { left, usual } = shortage;
  const most = entry.limits.maxOutputTokens;
  const name = step.id === ONLY_STEP ? "maxOutputTokens" : `steps.${step.id}.maxOutputTokens`;
  context.warnings.push(
    `${name} ${tokens} leaves ${left} of ${entry.model}'s ${most} tokens for reasoning, which may use ${usual}. Answers may be empty. Lower maxOutputTokens or the reasoning effort.`,
  );
}

function countImages({ images }: StepDefinition, { prompt }: StepContext) {
  const masks = images.filter((slot) => prompt.images[slot]?.mask === true).length;
  return { masks, pictures: images.length - masks };
}

function maskProblem(masks: number, pictures: number, { model, inputs }: CatalogueEntry): string | null {
  if (masks === 0) return null;
  if (inputs?.images?.mask !== true) return `${model} does not accept a mask`;
  if (masks > 1) return `a step can have at most one mask, but this one has ${masks}`;
  return pictures === 0 ? "a mask shows which part of another image may change, so the step needs another image" : null;
}

function imagesMaxOf({ inputs }: CatalogueEntry): number {
  return inputs?.images?.max ?? 0;
}

function tooManyImages(pictures: number, entry: CatalogueEntry): string | null {
  const max = imagesMaxOf(entry);
  if (pictures <= max) return null;
  const accepts = max === 0 ? "does not accept images" : `accepts at most ${countOf(max, "image")}`;
  return `${entry.model} ${accepts}, but this step sends ${pictures}`;
}

function checkStepImages(raw: RawStep, step: StepDefinition, entry: CatalogueEntry, context: StepContext): void {
  const slotsMax = context.prompt.images.length;
  const { masks, pictures } = countImages(step, context);
  const location = locationOf("images", raw, context);
  const lineOf = raw.images === null ? context.prompt.lineOf : raw.lineOf;
  const unknown = step.images.findIndex((slot) => slot >= slotsMax);
  if (unknown !== -1) {
    const message = `refers to an image slot that does not exist; the prompt has ${slotsMax}`;
    refuse(context, { ...location, line: lineOf("images", unknown) }, message);
  }
  const maskFault = maskProblem(masks, pictures, entry);
  if (maskFault !== null) refuse(context, location, maskFault);
  const tooMany = tooManyImages(pictures, entry);
  if (tooMany !== null) refuse(context, { ...location, line: lineOf("images", imagesMaxOf(entry)) }, tooMany);
}

function checkOptions(
  options: Readonly<Record<string, string>>,
  entry: CatalogueEntry,
  step: RawStep | null,
  context: StepContext,
): void {
  const keys = Object.keys(entry.runOptions);
  const { lineOf } = step ?? context.prompt;
  const path = step === null ? "options" : `steps.${step.id}.options`;
  for (const [key, value] of Object.entries(options)) {
    const option = Object.hasOwn(entry.runOptions, key) ? entry.runOptions[key] : undefined;
    const location = { line: lineOf("options", key) ?? lineOf(key), field: `${path}.${key}` };
    if (option === undefined) {
      const accepted = keys.length === 0 ? "it has none" : `accepted: ${keys.join(", ")}`;
      refuse(context, location, `is not an option of ${entry.model}; ${accepted}`);
    } else if (!Object.hasOwn(option.values, value)) {
      const accepted = Object.keys(option.values).join(", ");
      refuse(context, location, `"${value}" is not a valid value; accepted: ${accepted}`);
    }
  }
}

function checkOrder(steps: readonly CheckedStep[], definitions: readonly StepDefinition[], context: StepContext): void {
  for (const [index, step] of steps.entries()) {
    for (const id of step.reads) {
      const earlier = definitions.slice(0, index).find((each) => each.id === id);
      const modality = earlier === undefined ? null : (context.catalogue.find(earlier.model)?.modality ?? "text");
      if (modality === "text") continue;
      const exists = definitions.some((each) => each.id === id);
      const why =
        earlier !== undefined ? "does not make text" : exists ? "does not run before this step" : "does not exist";
      const template = templatesOf(step).find(({ facts }) => facts.steps.has(id)) ?? step.template;
      const location = template.locate.at(template.locate.sourceOffset(template.facts.steps.get(id)?.offset ?? 0));
      const message = `steps.${id} cannot be read: the step "${id}" ${why}`;
      context.faults.add({ ...location, field: template.field, code: "STEP_ORDER", message });
    }
  }
}

/** A caller must give every image, so each must be used. */
function checkSlotsUsed(steps: readonly StepDefinition[], context: StepContext): void {
  const used = new Set(steps.flatMap((step) => step.images));
  for (const index of context.prompt.images.keys()) {
    if (used.has(index)) continue;
    const message = `image ${index + 1} is not sent with any step: the prompt's models do not accept images, or steps.<id>.images leaves it out`;
    const line = context.prompt.lineOf("images", index);
    refuse(context, { line, field: `images[${index + 1}]` }, message);
  }
}
