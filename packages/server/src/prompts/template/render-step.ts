import { runAtOnce, type SlicedWork } from "../../platform/time-slice.ts";
import { invalid, type Problem } from "../../platform/problem.ts";
import { LIST_ITEMS_MAX, splitChoices, splitList } from "../text-input-rules.ts";
import type { InputField, PromptDefinition, StepDefinition, StepMessage } from "../prompt-definition.ts";
import {
  parseTemplate,
  RENDERED_LENGTH_MAX,
  renderTemplate,
  type InsertedValue,
  type ParsedTemplate,
  type RenderScope,
} from "./template.ts";
import { WORK_MAX } from "./template-language.ts";
import { scanInSlices } from "./template-scan.ts";

interface ParsedStep {
  readonly template: ParsedTemplate;
  readonly instructions: ParsedTemplate;
  readonly messages: readonly { readonly role: StepMessage["role"]; readonly template: ParsedTemplate }[];
}

/** The texts of one step, as the model gets them. */
export interface RenderedStep {
  readonly prompt: string;
  readonly instructions: string;
  /** Absent: the step has none. */
  readonly messages?: readonly { readonly role: StepMessage["role"]; readonly text: string }[];
}

/** Parsed once per loaded version: an entry lives as long as its step in the version cache. */
const parsedSteps = new WeakMap<StepDefinition, ParsedStep>();

/**
 * Renders the texts that a model gets: inserts inputs, and replaces choice names by their texts.
 * @param textInputs from checkInputs, with a value for every declared key.
 * @param stepOutputs texts of the earlier steps by id; a missing one counts as empty.
 * @throws Problem VALIDATION_ERROR when a text has over 1,000,000 UTF-16 units, or the templates are too much work.
 */
export function renderStep(
  version: { readonly definition: PromptDefinition },
  stepIndex: number,
  textInputs: Readonly<Record<string, string>>,
  stepOutputs: Readonly<Record<string, string>>,
): RenderedStep {
  const step = version.definition.steps[stepIndex];
  if (step === undefined) throw new RangeError(`There is no step ${stepIndex}.`);
  const scope: RenderScope = {
    inputs: new Map(
      version.definition.inputs.map((input) => [input.key, insertedValue(input, own(textInputs, input.key))]),
    ),
    steps: new Map(step.reads.map((id) => [id, own(stepOutputs, id)])),
  };
  const parsed = runAtOnce(prepareStep(step));
  const messages = parsed.messages.map(({ role, template }) => ({ role, text: renderOne(template, scope) }));
  return {
    prompt: renderOne(parsed.template, scope),
    instructions: renderOne(parsed.instructions, scope),
    ...(messages.length === 0 ? {} : { messages }),
  };
}

/** Everything that the author wrote for a step: its texts, and the texts of all inputs' choices. */
export function authorsText({ definition }: { readonly definition: PromptDefinition }, stepIndex: number): string {
  const step = definition.steps[stepIndex];
  if (step === undefined) throw new RangeError(`There is no step ${stepIndex}.`);
  const choices = definition.inputs.flatMap((input) => input.choices ?? []).map((choice) => choice.text);
  return [step.template, step.instructions, ...choices].join("\n");
}

/** Parses the texts of a step. Called before `renderStep`, it lets other work run in between. */
export function* prepareStep(step: StepDefinition): SlicedWork<ParsedStep> {
  const known = parsedSteps.get(step);
  if (known !== undefined) return known;
  let workLeft = WORK_MAX;
  const parse = function* (text: string): SlicedWork<ParsedTemplate> {
    const { locals, work } = yield* scanInSlices(text, workLeft);
    workLeft -= work;
    if (workLeft < 0) throw tooMuchWork();
    yield;
    return parseTemplate(text, [...locals.keys()]);
  };
  const messages: ParsedStep["messages"][number][] = [];
  for (const { role, template } of step.messages ?? []) messages.push({ role, template: yield* parse(template) });
  const parsed = { template: yield* parse(step.template), instructions: yield* parse(step.instructions), messages };
  parsedSteps.set(step, parsed);
  return parsed;
}

/** Publishing rejects such a prompt, but an older version could block a process for a minute. */
function tooMuchWork(): Problem {
  const most = WORK_MAX.toLocaleString("en");
  const message = `This prompt version can no longer run: the templates of one step have more than ${most} outputs, tags, and filters in total. Ask its author to publish a new version.`;
  return invalid([{ path: ["body", "promptVersionId"], code: "too_many", message }]);
}

function renderOne(template: ParsedTemplate, scope: RenderScope): string {
  const rendered = renderTemplate(template, scope);
  if (rendered.kind === "text") return rendered.text;
  const size = rendered.length === null ? "too long" : `${rendered.length.toLocaleString("en")} characters long`;
  const limit = RENDERED_LENGTH_MAX.toLocaleString("en");
  const message = `The prompt made from these inputs is ${size}; the limit is ${limit} characters.`;
  throw invalid([{ path: ["body", "inputs", "textInputs"], code: "too_long", message }]);
}

/**
 * Inserts the text of each chosen name of a select; unknown names were rejected before and insert nothing. Numbers and
 * booleans keep their type, so that templates can compare them. Blank text of any type becomes empty text.
 */
function insertedValue(input: InputField, value: string): InsertedValue {
  const { choices, type } = input;
  if (type === "list") return splitList(value).slice(0, LIST_ITEMS_MAX);
  if (value.trim() === "" && type !== undefined) return "";
  if (type === "number") return Number(value);
  if (type === "boolean") return value.trim() === "true";
  if (type === "date") return value.trim();
  if (choices === null) return value;
  const textOf = (name: string) => choices.find((choice) => choice.name === name)?.text ?? "";
  return input.multiple === null ? textOf(value) : splitChoices(value).map(textOf).join(", ");
}

function own(values: Readonly<Record<string, string>>, key: string): string {
  return (Object.hasOwn(values, key) ? values[key] : undefined) ?? "";
}
