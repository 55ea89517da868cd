/** Roles in a prompt: the model that each role means now, and which of the author's choices that model accepts. */
import { countOf } from "@promptd/contract";
import {
  meetsNeeds,
  priceEstimate,
  showsPrompt,
  type Catalogue,
  type CatalogueEntry,
  type RoleNeeds,
} from "../../models/index.ts";
import { planTypicalSteps } from "../inputs/step-plans.ts";
import type { RawPrompt, RawStep } from "../format/prompt-fields.ts";
import type { PromptDefinition, StepDefinition, StepRole } from "../prompt-definition.ts";

type Options = Readonly<Record<string, string>>;

/** A prompt whose roles are replaced by models; `roleOf` returns a step's original role. */
export interface BoundPrompt {
  readonly raw: RawPrompt;
  readonly roleOf: (step: StepDefinition) => StepRole | undefined;
}

export function bindRoles(raw: RawPrompt, catalogue: Catalogue): BoundPrompt {
  const written = raw.steps ?? [];
  const roleNames = new Set([raw.model, ...written.flatMap(({ model }) => model ?? [])].filter(isRole));
  if (roleNames.size === 0) return { raw, roleOf: () => undefined };
  function isRole(name: string): boolean {
    return Object.hasOwn(catalogue.roles, name);
  }
  const modelOf = (name: string, needs: RoleNeeds): string => catalogue.bind(name, needs)?.model ?? name;
  const model = modelOf(raw.model, needsAsWritten(raw, written.at(-1)));
  const steps = raw.steps?.map((step) => {
    const own =
      step.model === null || step.model === raw.model ? model : modelOf(step.model, needsAsWritten(raw, step));
    const options = isRole(step.model ?? raw.model) ? takenBy(catalogue.find(own), step.options) : step.options;
    return { ...step, model: step.model === null ? null : own, options };
  });
  const options = isRole(raw.model) ? takenBy(catalogue.find(model), raw.options) : raw.options;
  const roleOf: BoundPrompt["roleOf"] = ({ id, maxOutputTokens }) => {
    const step = written.find((each) => each.id === id);
    const name = step?.model ?? raw.model;
    if (!isRole(name)) return undefined;
    const chosen = { ...(name === raw.model ? raw.options : {}), ...step?.options };
    return { name, options: chosen, maxOutputTokens };
  };
  return { raw: { ...raw, model, options, steps: steps ?? null }, roleOf };
}

/**
 * Replaces the prompt's own model by another. Drops options that the other model does not accept, and all fallbacks.
 */
export function tryModel(raw: RawPrompt, model: string, catalogue: Catalogue): RawPrompt {
  const entry = catalogue.find(model);
  const tokensMax = entry?.limits.maxOutputTokens ?? 0;
  const bind = <Call extends Pick<RawPrompt, "options" | "maxOutputTokens" | "fallback">>(call: Call): Call => ({
    ...call,
    options: takenBy(entry, call.options),
    maxOutputTokens: call.maxOutputTokens === null ? null : Math.min(call.maxOutputTokens, tokensMax),
    fallback: null,
  });
  const steps = raw.steps?.map((step) => {
    if (step.model === null) return bind(step);
    return step.model === raw.model ? { ...bind(step), model } : step;
  });
  return { ...bind(raw), model, steps: steps ?? null };
}

/** @param step absent: the prompt has no steps. */
function needsAsWritten(raw: RawPrompt, step: RawStep | undefined): RoleNeeds {
  const isLast = step === raw.steps?.at(-1);
  return {
    images: step?.images?.length ?? raw.images.length,
    searchesWeb: ((step?.webSearch ?? (isLast ? raw.webSearch : null)) || null) !== null,
    hasSchema: (step?.outputSchema ?? (isLast ? raw.outputSchema : null)) !== null,
  };
}

function needsOf({ images, webSearch, outputSchema }: StepDefinition): RoleNeeds {
  return { images: images.length, searchesWeb: webSearch !== undefined, hasSchema: outputSchema !== undefined };
}

/** Selects the options and values that a model accepts, since a role's models differ in them. */
export function takenBy(entry: CatalogueEntry | null, options: Options): Options {
  const isTaken = ([key, value]: [string, string]): boolean => {
    const option = Object.hasOwn(entry?.runOptions ?? {}, key) ? entry?.runOptions[key] : undefined;
    return option !== undefined && Object.hasOwn(option.values, value);
  };
  return Object.fromEntries(Object.entries(options).filter(isTaken));
}

/**
 * Binds the roles of a prompt to the models that they mean now; null: nothing changes. A step of a prompt whose text is
 * secret never moves from a real model to one that shows the text.
 */
export function rebindDefinition(
  definition: PromptDefinition,
  { catalogue, isTextPublic }: { readonly catalogue: Catalogue; readonly isTextPublic: boolean },
): PromptDefinition | null {
  const steps = definition.steps.map((step) => {
    const entry = step.role === undefined ? null : catalogue.bind(step.role.name, needsOf(step));
    if (entry === null || entry.model === step.model) return step;
    const current = catalogue.find(step.model);
    const wouldReveal = !isTextPublic && showsPrompt(entry) && !(current !== null && showsPrompt(current));
    return wouldReveal ? step : bindStep(step, entry);
  });
  return steps.every((step, index) => step === definition.steps[index]) ? null : { ...definition, steps };
}

/** Applies the author's choices, as far as this model accepts them. */
function bindStep(step: StepDefinition, entry: CatalogueEntry): StepDefinition {
  const { role } = step;
  if (role === undefined) return step;
  const wanted = role.maxOutputTokens;
  const maxOutputTokens = wanted === null ? null : Math.min(wanted, entry.limits.maxOutputTokens);
  return { ...step, model: entry.model, options: takenBy(entry, role.options), maxOutputTokens };
}

/** Tells the author what each role means here, and the range in which its price may change. */
export function describeRoles(definition: PromptDefinition, catalogue: Catalogue): string[] {
  const estimate = (bound: PromptDefinition): number => {
    const model = bound.steps.at(-1)?.model ?? "";
    return priceEstimate(catalogue, planTypicalSteps({ model, definition: bound }, catalogue), model);
  };
  const roles = new Map(
    definition.steps.flatMap(({ role, model }) => (role === undefined ? [] : [[role.name, model]])),
  );
  return [...roles].map(([role, model]) => {
    const prices = (catalogue.roles[role] ?? []).flatMap((candidate) => {
      const other = withModel(definition, role, catalogue.find(candidate));
      return other === null ? [] : [estimate(other)];
    });
    const price = estimate(definition);
    const range = prices.every((other) => other === price) ? "" : `, or about ${rangeOf(prices)} if the model changes`;
    return `${role} currently uses ${model}: about ${countOf(price, "credit")} per run${range}.`;
  });
}

/** Null: the model cannot fill this role in this prompt. */
function withModel(definition: PromptDefinition, role: string, entry: CatalogueEntry | null): PromptDefinition | null {
  const own = definition.steps.filter((step) => step.role?.name === role);
  if (entry === null || entry.status === "retired" || own.some((step) => !meetsNeeds(entry, needsOf(step))))
    return null;
  const steps = definition.steps.map((step) => (step.role?.name === role ? bindStep(step, entry) : step));
  return { ...definition, steps };
}

function rangeOf(prices: readonly number[]): string {
  const [least, most] = [Math.min(...prices), Math.max(...prices)];
  return least === most ? countOf(most, "credit") : `${least} to ${countOf(most, "credit")}`;
}
