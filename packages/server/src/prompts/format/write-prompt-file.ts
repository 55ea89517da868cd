/** Writes the text of a prompt file, from a stored version or from another format. */
import { stringify } from "yaml";
import type { PromptSamples } from "@promptd/contract";
import type { InputField, PromptContent, StepDefinition } from "../prompt-definition.ts";
import { ONLY_STEP } from "./prompt-fields.ts";

export interface PromptText {
  /** Comment lines above the fields, for the author. */
  readonly comments: readonly string[];
  /** In this order; undefined members are left out. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The template, or the templates of the steps. */
  readonly body: string | readonly { readonly id: string; readonly template: string }[];
}

/** @returns the text of a `*.prompt.md` file. */
export function writePromptFile({ comments, fields, body }: PromptText): string {
  const front = stringify(withoutUndefined({ promptd: 1, ...fields }), {
    version: "1.2",
    schema: "core",
    aliasDuplicateObjects: false,
    lineWidth: 0,
    blockQuote: "literal",
  });
  const notes = comments.flatMap((comment) => comment.split("\n")).map((line) => `# ${line}`.trimEnd() + "\n");
  const text =
    typeof body === "string" ? body : body.map(({ id, template }) => `<!-- step: ${id} -->\n${template}`).join("\n\n");
  return `---\n${notes.join("")}${front}---\n${text}\n`;
}

export interface NewSample {
  readonly textInputs: Readonly<Record<string, string>>;
  /** Texts of the outputs. */
  readonly outputs: readonly string[];
}

/**
 * Adds one sample at the end of the fields of a `*.prompt.md` file, and leaves the rest unchanged.
 * @returns null if the file has samples, or is not such a file.
 */
export function addSample(text: string, { textInputs, outputs }: NewSample): string | null {
  const [whole, front] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*\r?$/m.exec(text) ?? [];
  if (whole === undefined || front === undefined || /^samples[ \t]*:/m.test(front)) return null;
  const sample = {
    inputs: fromEntries(Object.entries(textInputs)),
    outputs: outputs.length === 0 ? undefined : outputs,
  };
  const written = stringify(
    { samples: [withoutUndefined(sample)] },
    { version: "1.2", schema: "core", lineWidth: 0, blockQuote: "literal" },
  );
  const at = text.indexOf(front) + front.length;
  return text.slice(0, at) + written + text.slice(at);
}

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (value === null || typeof value !== "object" || value instanceof Map) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  // A map keeps the order of keys that look like numbers.
  return new Map(members.map(([key, member]) => [key, withoutUndefined(member)]));
}

/** A stored version. */
export interface StoredPrompt extends PromptContent {
  readonly promptId: string;
  readonly slug: string;
}

/** The file of a version: the author's own if stored, with comments and tests, or else one made from its content. */
export function fileOfPrompt(stored: StoredPrompt & { readonly text: string | null }): string {
  return stored.text ?? writePromptFile(textOfPrompt(stored));
}

/** Builds the file that publishes this version again, leaving out what is implied, such as defaults. */
export function textOfPrompt(stored: StoredPrompt): PromptText {
  const steps = stored.definition.steps.map(asWritten);
  const definition = { ...stored.definition, steps };
  const model = steps.at(-1)?.model ?? stored.model;
  const prompt = { ...stored, definition, model };
  const only = steps.length === 1 && steps[0]?.id === ONLY_STEP ? steps[0] : null;
  const fields = {
    id: prompt.promptId,
    title: prompt.title,
    slug: prompt.slug,
    description: prompt.description === "" ? undefined : prompt.description,
    tags: prompt.tags.length === 0 ? undefined : prompt.tags,
    model,
    inputs: fromEntries(definition.inputs.map((input) => [input.key, fieldsOfInput(input)])),
    images: definition.images.length === 0 ? undefined : definition.images,
    ...(only === null ? {} : fieldsOfCall(only)),
    steps: only === null ? fromEntries(steps.map((step) => [step.id, fieldsOfStep(step, prompt)])) : undefined,
    samples: fieldsOfSamples(prompt.samples),
  };
  return { comments: [], fields, body: only?.template ?? steps.map(({ id, template }) => ({ id, template })) };
}

/** Restores the role that the author named, with its options, in place of the model that it means now. */
function asWritten(step: StepDefinition): StepDefinition {
  const { role } = step;
  if (role === undefined) return step;
  return { ...step, model: role.name, options: role.options, maxOutputTokens: role.maxOutputTokens };
}

function fieldsOfInput(input: InputField) {
  const { key, label, description, choices } = input;
  const hasTexts = choices?.some(({ name, text }) => name !== text) === true;
  return {
    label: label === key ? undefined : label,
    description: description === "" ? undefined : description,
    type: input.type,
    default: input.default ?? undefined,
    allowEmpty: input.allowEmpty ? true : undefined,
    maxLength: input.maxLength ?? undefined,
    options: hasTexts ? fromEntries(choices.map(({ name, text }) => [name, text])) : choices?.map(({ name }) => name),
    multiple: input.multiple ?? undefined,
    min: input.min,
    max: input.max,
  };
}

/** Fields that a step and the top level have in common. */
function fieldsOfCall(step: StepDefinition) {
  return {
    instructions: step.instructions === "" ? undefined : step.instructions,
    options: Object.keys(step.options).length === 0 ? undefined : step.options,
    maxOutputTokens: step.maxOutputTokens ?? undefined,
    count: step.count === 1 ? undefined : step.count,
    ...step.settings,
    messages: step.messages?.map(({ role, template }) => ({ [role]: template })),
    output: step.outputSchema === undefined ? undefined : { schema: step.outputSchema },
    webSearch: step.webSearch === undefined ? undefined : webSearchField(step.webSearch),
    fallback: step.fallback,
  };
}

function webSearchField({ sources }: NonNullable<StepDefinition["webSearch"]>) {
  return sources ? { sources } : true;
}

function fieldsOfStep(step: StepDefinition, prompt: StoredPrompt) {
  return {
    model: step.model === prompt.model ? undefined : step.model,
    ...fieldsOfCall(step),
    images: prompt.definition.images.length === 0 ? undefined : step.images.map((slot) => slot + 1),
  };
}

function fieldsOfSamples({ inputs, outputs }: PromptSamples) {
  const texts = Object.entries(inputs.textInputs);
  const images = inputs.imageInputs.flatMap((image) => (image.type === "url" ? [image.url] : []));
  if (texts.length + images.length + outputs.length === 0) return undefined;
  return [
    {
      inputs: texts.length === 0 ? undefined : fromEntries(texts),
      images: images.length === 0 ? undefined : images,
      outputs: outputs.length === 0 ? undefined : outputs.map(({ type, data }) => ({ type, data })),
    },
  ];
}

/** Makes a map, since objects move keys that look like numbers to the front. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): ReadonlyMap<string, unknown> | undefined {
  return entries.length === 0 ? undefined : new Map(entries.map(([key, value]) => [key, withoutUndefined(value)]));
}
