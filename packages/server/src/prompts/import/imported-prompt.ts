/** A prompt of another tool, as far as promptd understands it, and the prompt file that is made from it. */
import { featuresOf, type Catalogue, type CatalogueEntry, type TextSettings } from "../../models/index.ts";
import type { Expectations } from "../prompt-definition.ts";
import { FIELD_LIMITS } from "../format/field-limits.ts";
import type { PromptFile } from "../format/prompt-file.ts";
import { writePromptFile } from "../format/write-prompt-file.ts";
import { scanTemplate } from "../template/template-scan.ts";
import { convertTemplate, type Converted, type TemplateSyntax } from "./convert-template.ts";
import { isPlainObject } from "../../platform/json.ts";

export interface ImportedInput {
  readonly description?: string | undefined;
  readonly default?: string | undefined;
}

interface ImportedTest {
  readonly name: string;
  readonly inputs: Readonly<Record<string, string>>;
  readonly expect: Pick<Expectations, "contains" | "notContains" | "matches" | "judge">;
}

export interface ImportedPrompt {
  readonly name: string;
  readonly description?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** The other tool's name for it. */
  readonly model: string | null;
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  readonly syntax: TemplateSyntax;
  readonly settings: TextSettings;
  readonly reasoningEffort?: string | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly outputSchema?: unknown;
  /** True: its model may search the web. */
  readonly searchesWeb?: boolean | undefined;
  readonly inputs: ReadonlyMap<string, ImportedInput>;
  readonly samples: readonly Readonly<Record<string, string>>[];
  readonly tests?: readonly ImportedTest[] | undefined;
  /** What could not be imported, one sentence each. */
  readonly notes: readonly string[];
}

/** As `name.prompt.md`. */
export interface ImportedFile extends PromptFile {
  readonly notes: readonly string[];
}

export function writeImported(prompt: ImportedPrompt, catalogue: Catalogue): ImportedFile {
  const notes = [...prompt.notes];
  const found = findModel(prompt.model, catalogue);
  const entry = found?.status === "retired" ? successorOf(found, catalogue) : found;
  const model = entry?.model ?? USUAL_ROLE;
  if (entry === null) notes.push(modelNote(prompt.model));
  else if (entry !== found) notes.push(`The model ${prompt.model} is retired. Its successor is used: ${model}.`);
  else if (prompt.model !== model) notes.push(`Here the model ${prompt.model} is ${model}.`);
  const convert = (text: string): string => {
    const { text: converted, notes: lost } = convertTemplate(text, prompt.syntax);
    const { text: readable, notes: unread } = leaveOutUnread(converted);
    notes.push(...lost, ...unread);
    return readable;
  };
  const texts = splitMessages(prompt.messages, notes);
  const converted = {
    instructions: texts.instructions.map(convert).join("\n\n"),
    messages: texts.messages.map(({ role, text }) => ({ role, text: convert(text) })),
    body: convert(texts.body),
  };
  const join = joinLists([converted.body, converted.instructions, ...converted.messages.map(({ text }) => text)]);
  const instructions = join(converted.instructions);
  const said = converted.messages.filter(({ text }) => text.trim() !== "");
  if (said.length < converted.messages.length) notes.push("A message that became empty was left out.");
  const messages = said.map(({ role, text }) => ({ [role]: join(text) }));
  const body = join(converted.body);
  const templates = [body, instructions, ...messages.flatMap((message) => Object.values(message))];
  const output = schemaOf(prompt, notes);
  const inputs = inputsOf(templates, prompt);
  const fields = {
    title: prompt.name.trim().slice(0, FIELD_LIMITS.titleLength),
    description: prompt.description?.slice(0, FIELD_LIMITS.descriptionLength),
    tags: prompt.tags?.slice(0, FIELD_LIMITS.tags).map((tag) => tag.slice(0, FIELD_LIMITS.tagLength)),
    model,
    inputs,
    instructions: instructions === "" ? undefined : instructions,
    ...settingsOf(prompt, entry, notes),
    messages: messages.length === 0 ? undefined : messages,
    output,
    webSearch: webSearchOf({ prompt, entry, hasSchema: output !== undefined }, notes),
    ...casesOf(prompt, new Set(inputs?.keys()), notes),
  };
  const unique = [...new Set(notes)];
  const comments = unique.length === 0 ? [] : ["Not imported unchanged:", ...unique.map((note) => `- ${note}`)];
  return {
    name: `${fileName(prompt.name)}.prompt.md`,
    text: writePromptFile({ comments, fields, body }),
    notes: unique,
  };
}

/** The best text model that the installation has. */
const USUAL_ROLE = "text-default";

function modelNote(model: string | null): string {
  const was = model === null ? "The file names no model" : `The model ${model} is not known here`;
  return `${was}, so the role ${USUAL_ROLE} is used: the best text model on the server. Name a model to be sure which one runs.`;
}

function fileName(name: string): string {
  const words = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  return words === "" ? "prompt" : words.slice(0, 80);
}

/**
 * Finds a model by its name here, or by the provider's name without a trailing date.
 */
function findModel(name: string | null, catalogue: Catalogue): CatalogueEntry | null {
  if (name === null) return null;
  const bare = name.replace(
    /^(?:googleai|vertexai|google|openai|anthropic|azure)[/:](?:chat:|responses:|messages:)?/,
    "",
  );
  const short = bare.replace(/-(?:\d{4}-?\d{2}-?\d{2}|latest)$/, "");
  const texts = catalogue.entries.filter(({ modality }) => modality === "text");
  return (
    catalogue.find(name.replace(":", "/")) ??
    texts.find(({ providerModel }) => providerModel === bare) ??
    texts.find(({ providerModel }) => providerModel === short || providerModel.startsWith(`${short}-2`)) ??
    null
  );
}

function successorOf({ successor }: CatalogueEntry, catalogue: Catalogue): CatalogueEntry | null {
  return successor === undefined ? null : catalogue.find(successor);
}

interface SplitMessages {
  readonly instructions: readonly string[];
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  readonly body: string;
}

const ROLES: Readonly<Record<string, "user" | "assistant">> = {
  user: "user",
  human: "user",
  assistant: "assistant",
  model: "assistant",
  ai: "assistant",
};

/** Whether the prompt has any text for a model to answer. */
export function hasText({ messages }: ImportedPrompt): boolean {
  return messages.some(({ role, text }) => text.trim() !== "" && ROLES[role] !== "assistant");
}

/**
 * System messages become instructions, the last user message becomes the prompt, and earlier messages stay messages.
 */
function splitMessages(all: ImportedPrompt["messages"], notes: string[]): SplitMessages {
  const isSystem = (role: string) => role === "system" || role === "developer";
  const system = all.filter(({ role }) => isSystem(role)).map(({ text }) => text.trim());
  const turns = all.flatMap(({ role, text }): SplitMessages["messages"] => {
    const own = ROLES[role];
    if (own !== undefined) return [{ role: own, text: text.trim() }];
    if (!isSystem(role)) notes.push(`A message with the role "${role}" was left out.`);
    return [];
  });
  const last = turns.findLastIndex(({ role }) => role === "user");
  if (last < turns.length - 1) notes.push("Assistant messages after the last user message were left out.");
  if (last === -1) {
    // The prompt is all system text, but the model needs something to answer.
    notes.push("There was no user message, so the instructions became the prompt.");
    return { instructions: [], messages: [], body: system.join("\n\n") };
  }
  const earlier = turns.slice(0, last);
  const first = Math.max(0, earlier.length - FIELD_LIMITS.messages);
  if (first > 0)
    notes.push(
      `The first ${first} messages were left out: a file can have at most ${FIELD_LIMITS.messages} before its prompt.`,
    );
  return { instructions: system, messages: earlier.slice(first), body: turns[last]?.text ?? "" };
}

function inputsOf(templates: readonly string[], { inputs }: ImportedPrompt): ReadonlyMap<string, object> | undefined {
  const facts = templates.map((text) => scanTemplate(text));
  const loops = new Set(facts.flatMap((each) => each.loops.map(({ key }) => key)));
  const keys = new Set(facts.flatMap((each) => [...each.inputs.keys()]));
  if (keys.size === 0) return undefined;
  return new Map(
    [...keys].map((key) => {
      const known = inputs.get(key);
      const type = loops.has(key) ? "list" : undefined;
      return [key, { type, description: known?.description, default: known?.default }];
    }),
  );
}

/** Removes placeholders that are not Liquid, and notes each with its fault. */
function leaveOutUnread(text: string): Converted {
  const notes = new Set<string>();
  const faults = scanTemplate(text).faults.toSorted((a, b) => b.offset - a.offset);
  let left = text;
  for (const { offset, message } of faults) {
    const open = left.lastIndexOf("{{", offset + 1);
    const end = open === -1 ? -1 : left.indexOf("}}", open);
    const piece = left.slice(open, end + 2);
    // A condition cannot be left out, so the author has to fix what is inside a tag.
    if (end === -1 || end < offset || piece.includes("{%")) continue;
    notes.add(`${piece.replaceAll("\n", " ")} was left out of the template. ${message}`);
    left = left.slice(0, open) + left.slice(end + 2);
  }
  return { text: left, notes: [...notes].toReversed() };
}

/** Joins the items of lists that are printed, since Liquid prints lists without separators. */
function joinLists(templates: readonly string[]): (text: string) => string {
  const lists = new Set(templates.flatMap((text) => scanTemplate(text).loops.map(({ key }) => key)));
  return (text) => {
    const bare = scanTemplate(text).bare.filter(({ kind, key }) => kind !== "step" && lists.has(key));
    return bare
      .toSorted((a, b) => b.offset - a.offset)
      .reduce((left, { offset }) => {
        const end = left.slice(offset).search(/\s*-?\}\}/);
        return end === -1 ? left : `${left.slice(0, offset + end)} | join: ", "${left.slice(offset + end)}`;
      }, text);
  };
}

/** Converts samples and tests, up to a file's limits, with values for its inputs only. */
function casesOf({ samples, tests = [] }: ImportedPrompt, keys: ReadonlySet<string>, notes: string[]) {
  const unread = new Set<string>();
  const read = (inputs: Readonly<Record<string, string>>) => {
    for (const key of Object.keys(inputs)) if (!keys.has(key)) unread.add(key);
    return Object.fromEntries(Object.entries(inputs).filter(([key]) => keys.has(key)));
  };
  const firstOf = <Case>(all: readonly Case[], max: number, what: string): readonly Case[] => {
    if (all.length > max) notes.push(`${all.length - max} more ${what} were left out: a file can have at most ${max}.`);
    return all.slice(0, max);
  };
  const [shown, tried] = [
    firstOf(samples, FIELD_LIMITS.samples, "samples"),
    firstOf(tests, FIELD_LIMITS.tests, "tests"),
  ];
  const cases = {
    samples: shown.length === 0 ? undefined : shown.map((inputs) => ({ inputs: read(inputs) })),
    tests: tried.length === 0 ? undefined : tried.map((test) => ({ ...test, inputs: read(test.inputs) })),
  };
  if (unread.size > 0) notes.push(`Values for ${[...unread].join(", ")} were left out: the prompt does not use them.`);
  return cases;
}

/** Selects the settings that the model accepts, and notes the others. */
function settingsOf(prompt: ImportedPrompt, entry: CatalogueEntry | null, notes: string[]) {
  const { settings, reasoningEffort, maxOutputTokens } = prompt;
  const features = entry === null ? null : featuresOf(entry);
  const drop = (name: string, value: unknown) =>
    notes.push(`${name}: ${JSON.stringify(value)} was left out: the model does not accept it.`);
  const taken: Record<string, unknown> = {};
  const isTaken = {
    temperature: features === null || (settings.temperature ?? 0) <= (features.temperatureMax ?? -1),
    topP: features === null || (features.topP && (features.both || settings.temperature === undefined)),
    seed: features === null || features.seed,
    stop: features === null || (settings.stop?.length ?? 0) <= features.stopMax,
  };
  for (const name of ["temperature", "topP", "seed", "stop"] as const) {
    const value = settings[name];
    if (value === undefined) continue;
    if (isTaken[name]) taken[name] = value;
    else drop(name, value);
  }
  const efforts = Object.keys(entry?.runOptions["reasoningEffort"]?.values ?? {});
  const isEffort = reasoningEffort !== undefined && efforts.includes(reasoningEffort);
  if (reasoningEffort !== undefined && !isEffort) drop("reasoningEffort", reasoningEffort);
  const tokensMax = entry?.limits.maxOutputTokens ?? 2_048;
  if (maxOutputTokens !== undefined && maxOutputTokens > tokensMax)
    notes.push(`maxOutputTokens was ${maxOutputTokens}; the model returns at most ${tokensMax}.`);
  return {
    ...taken,
    reasoningEffort: isEffort ? reasoningEffort : undefined,
    maxOutputTokens: maxOutputTokens === undefined ? undefined : Math.min(maxOutputTokens, tokensMax),
  };
}

/** Undefined: the prompt did not search the web, or its model here cannot. */
function webSearchOf(
  given: { readonly prompt: ImportedPrompt; readonly entry: CatalogueEntry | null; readonly hasSchema: boolean },
  notes: string[],
): true | undefined {
  const { prompt, entry, hasSchema } = given;
  if (prompt.searchesWeb !== true) return undefined;
  const terms = entry?.webSearch;
  if (terms !== undefined && (!hasSchema || terms.withSchema === true)) return true;
  notes.push(
    terms === undefined
      ? "The prompt searched the web, but the model cannot. Choose a model that can, and add webSearch: true."
      : "The prompt searched the web, but the model cannot search and follow a schema in one call. Search in an earlier step.",
  );
  return undefined;
}

function schemaOf({ outputSchema }: ImportedPrompt, notes: string[]): { schema: unknown } | undefined {
  if (outputSchema === undefined) return undefined;
  if (!isPlainObject(outputSchema) || outputSchema["type"] !== "object") {
    notes.push("The output schema was left out because it does not describe an object.");
    return undefined;
  }
  return { schema: withoutPatterns(outputSchema, notes) };
}

/**
 * Removes regular expressions from a schema: promptd does not check them, because one can take minutes on a short text.
 */
function withoutPatterns(schema: unknown, notes: string[]): unknown {
  if (Array.isArray(schema)) return schema.map((each) => withoutPatterns(each, notes));
  if (!isPlainObject(schema)) return schema;
  const others = Object.entries(schema).filter(([name, value]) => {
    const isPattern =
      (name === "pattern" && typeof value === "string") || (name === "patternProperties" && isPlainObject(value));
    if (isPattern)
      notes.push(`${name} was left out of the schema: ${JSON.stringify(value)}. Describe the text instead.`);
    return !isPattern;
  });
  return Object.fromEntries(others.map(([name, value]) => [name, withoutPatterns(value, notes)]));
}
