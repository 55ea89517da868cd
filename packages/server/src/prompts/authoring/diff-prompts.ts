/** Compares two versions of a prompt, published or not: texts line by line, everything else by field. */
import type { FieldChange, OwnPromptDiff, PriceOfPrompt, TextChange } from "@promptd/contract/manage";
import { isDeepStrictEqual } from "node:util";
import type { Catalogue } from "../../models/index.ts";
import type { InputField, PromptContent, PromptDefinition, StepDefinition } from "../prompt-definition.ts";
import { runAtOnce, type SlicedWork } from "../../platform/time-slice.ts";
import { diffLines, newDiffBudget } from "./diff-lines.ts";
import { usualPrice } from "./prompt-price.ts";
import type { PlainObject } from "../../platform/json.ts";

export type PromptDiff = Omit<OwnPromptDiff, "conflicts">;

export function diffPrompts(before: PromptContent, after: PromptContent, catalogue: Catalogue): PromptDiff {
  return runAtOnce(diffInSlices(before, after, catalogue));
}

/** The same on a server, where comparing long prompts would block all other work. */
export function* diffInSlices(
  before: PromptContent,
  after: PromptContent,
  catalogue: Catalogue,
): SlicedWork<PromptDiff> {
  const steps = stepPairs(before.definition.steps, after.definition.steps);
  const fields = [
    ...compare("", headOf(before), headOf(after)),
    ...compare("samples", samplesOf(before), samplesOf(after)),
    ...steps.flatMap(({ id, left, right }) => compare(`steps.${id}`, settingsOf(left), settingsOf(right))),
  ];
  const inputs = compare("inputs", inputsOf(before.definition), inputsOf(after.definition));
  const options = steps.flatMap(({ id, left, right }) =>
    compare(`steps.${id}.options`, left?.options ?? {}, right?.options ?? {}),
  );
  const texts: TextChange[] = [];
  const budget = newDiffBudget();
  for (const { id, left, right } of steps)
    for (const { name, from, to } of changedTexts(textsOf(left), textsOf(right)))
      texts.push({ field: `steps.${id}.${name}`, lines: yield* diffLines(from, to, budget) });
  return {
    isSame: fields.length + inputs.length + options.length + texts.length === 0,
    fields,
    inputs,
    options,
    texts,
    price: { before: tryPrice(before, catalogue), after: tryPrice(after, catalogue) },
  };
}

function stepPairs(left: readonly StepDefinition[], right: readonly StepDefinition[]) {
  const ids = new Set([...right, ...left].map(({ id }) => id));
  const find = (steps: readonly StepDefinition[], id: string) => steps.find((step) => step.id === id);
  return [...ids].map((id) => ({ id, left: find(left, id), right: find(right, id) }));
}

function headOf({ title, description, tags, model, definition }: PromptContent): PlainObject {
  const { images, steps } = definition;
  return { title, description, tags, model, images, steps: steps.map(({ id }) => id).join(", ") };
}

function samplesOf({ samples }: PromptContent): PlainObject {
  return { ...samples.inputs, outputs: samples.outputs };
}

/** Everything except texts and options; `reads` follows from the texts. */
function settingsOf(step: StepDefinition | undefined): PlainObject {
  if (step === undefined) return {};
  const { model, role, fallback, images, maxOutputTokens, count, settings, outputSchema, webSearch } = step;
  return { model, role, fallback, images, maxOutputTokens, count, ...settings, output: outputSchema, webSearch };
}

function textsOf(step: StepDefinition | undefined): Readonly<Record<string, string>> {
  if (step === undefined) return {};
  const messages = step.messages?.map(({ role, template }, at) => [`messages[${at + 1}].${role}`, template] as const);
  return { instructions: step.instructions, ...Object.fromEntries(messages ?? []), template: step.template };
}

/** `topic.default` -> value; the order is compared as a separate member. */
function inputsOf({ inputs }: PromptDefinition): PlainObject {
  const members = inputs.flatMap((input) =>
    Object.entries(input satisfies InputField)
      .filter(([name]) => name !== "key")
      .map(([name, value]) => [`${input.key}.${name}`, value] as const),
  );
  return { ...Object.fromEntries(members), order: inputs.map(({ key }) => key).join(", ") };
}

function compare(path: string, left: PlainObject, right: PlainObject): FieldChange[] {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].flatMap((name) => {
    const [before, after] = [left[name] ?? null, right[name] ?? null];
    if (isDeepStrictEqual(before, after)) return [];
    return [{ field: path === "" ? name : `${path}.${name}`, before, after }];
  });
}

function changedTexts(left: Readonly<Record<string, string>>, right: Readonly<Record<string, string>>) {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  const texts = [...names].map((name) => ({ name, from: left[name] ?? "", to: right[name] ?? "" }));
  return texts.filter(({ from, to }) => from !== to);
}

function tryPrice(prompt: PromptContent, catalogue: Catalogue): PriceOfPrompt | null {
  if (prompt.definition.steps.some((step) => catalogue.find(step.model) === null)) return null;
  return usualPrice(prompt, catalogue);
}
