/** Fields about a model call, which the top level of a file and each of its steps can have. */
import type { TextSettings, WebSearchChoice } from "../../models/index.ts";
import type { StepMessage } from "../prompt-definition.ts";
import { TEMPLATE_LENGTH_MAX } from "../template/template-language.ts";
import { FIELD_LIMITS } from "./field-limits.ts";
import { FieldReader, NOT_TEXT, type TextRule } from "./field-reader.ts";
import { kindName, type SourceMap, type SourceNode } from "./source-tree.ts";
import { blankLinesBefore, cleanTemplate, type TemplateText } from "../template/template-text.ts";
import { isStorable, presentMembers, type JsonObject, type JsonValue } from "../../platform/json.ts";

const SEED_MAX = 2_147_483_647;
const SCHEMA_BYTES_MAX = 32_768;
const TEMPLATE_RULE: TextRule = { max: TEMPLATE_LENGTH_MAX, mayHaveLines: true };

interface RawMessage {
  readonly role: StepMessage["role"];
  readonly text: TemplateText;
}

/** As written in the file; null: absent. */
export interface RawCall {
  readonly instructions: TemplateText | null;
  readonly options: Readonly<Record<string, string>>;
  readonly maxOutputTokens: number | null;
  readonly count: number | null;
  readonly settings: TextSettings | null;
  readonly messages: readonly RawMessage[] | null;
  readonly outputSchema: JsonObject | null;
  /** False: the file says false. */
  readonly webSearch: WebSearchChoice | false | null;
  readonly fallback: readonly string[] | null;
}

export const NO_CALL: RawCall = {
  instructions: null,
  options: {},
  maxOutputTokens: null,
  count: null,
  settings: null,
  messages: null,
  outputSchema: null,
  webSearch: null,
  fallback: null,
};

export function readCallFields(reader: FieldReader): RawCall {
  return {
    instructions: readTemplate(reader, "instructions"),
    options: readOptions(reader),
    maxOutputTokens: reader.integer("maxOutputTokens", 1, 10_000_000),
    count: reader.integer("count", 1, FIELD_LIMITS.count),
    settings: readSettings(reader),
    messages: readMessages(reader),
    outputSchema: readOutputSchema(reader),
    webSearch: readWebSearch(reader),
    fallback: readFallback(reader),
  };
}

function readFallback(reader: FieldReader): string[] | null {
  const items = reader.list("fallback");
  if (items === null) return null;
  if (items.length < 1 || items.length > FIELD_LIMITS.fallbacks)
    reader.fault("fallback", `must list 1 to ${FIELD_LIMITS.fallbacks} models, got ${items.length}`);
  return items.flatMap((item) => reader.asText(item, "fallback", { max: 100 }) ?? []);
}

/** Reads run options; `reasoningEffort` may also be written next to the other settings. */
function readOptions(reader: FieldReader): Record<string, string> {
  const options = reader.textMap("options", { max: 100 });
  const reasoningEffort = reader.text("reasoningEffort", { max: 20 });
  if (reasoningEffort === null) return options;
  if (Object.hasOwn(options, "reasoningEffort"))
    reader.fault("reasoningEffort", "is also set under options: set it only once");
  return { ...options, reasoningEffort };
}

function readSettings(reader: FieldReader): TextSettings | null {
  const settings = presentMembers({
    temperature: reader.number("temperature", 0, FIELD_LIMITS.temperature),
    topP: reader.number("topP", 0, FIELD_LIMITS.topP),
    seed: reader.integer("seed", 0, SEED_MAX),
    stop: readStops(reader),
  });
  return Object.keys(settings).length === 0 ? null : settings;
}

function readStops(reader: FieldReader): string[] | null {
  const stops = reader.texts("stop", { max: 200, mayHaveLines: true, mayBeEmpty: true });
  if (stops === null) return null;
  if (stops.length < 1 || stops.length > FIELD_LIMITS.stops || stops.includes(""))
    reader.fault("stop", `must have 1 to ${FIELD_LIMITS.stops} non-empty texts`);
  return stops.flatMap((stop) => stop ?? []);
}

function readMessages(reader: FieldReader): RawMessage[] | null {
  return (
    reader
      .readers("messages", FIELD_LIMITS.messages, "such as { user: … } or { assistant: … }")
      ?.flatMap(readMessage) ?? null
  );
}

/** Reads `{ user: text }`, or, as other tools write it, `{ role: user, content: text }`. */
function readMessage(reader: FieldReader): RawMessage[] {
  const map = reader.source;
  const role = reader.text("role", { max: 20 });
  const names = role === null ? (["user", "assistant"] as const) : [];
  const given = names.filter((name) => reader.node(name) !== null);
  const [own] = given;
  const text = role === null ? (own === undefined ? null : readTemplate(reader, own)) : readTemplate(reader, "content");
  const isSystem = role === "system" || map.entries.some(({ key }) => key === "system");
  if (!isSystem) reader.finish();
  if (isSystem)
    reader.faults.addField(map.line, reader.path, "has the role system: put its text under instructions instead");
  else if (role !== null && role !== "user" && role !== "assistant")
    reader.fault("role", `must be user or assistant, got "${role}"`);
  else if (text === null || given.length > 1)
    reader.faults.addField(map.line, reader.path, "must have exactly one text, under user or assistant");
  else return [{ role: role ?? own ?? "user", text }];
  return [];
}

/** `output: { schema: … }` */
function readOutputSchema(reader: FieldReader): JsonObject | null {
  const map = reader.map("output");
  if (map === null) return null;
  const output = new FieldReader(map, reader.fieldPath("output"), reader.faults);
  const node = output.node("schema");
  output.finish();
  if (node?.kind !== "map") {
    output.fault("schema", `must be a JSON Schema, got ${node === null ? "nothing" : kindName(node)}`);
    return null;
  }
  return readSchema(node, output);
}

/** Null: it is too long or cannot be stored, and nothing reads it further. */
export function readSchema(node: SourceMap, reader: FieldReader): JsonObject | null {
  const schema = toJson(node) as JsonObject;
  if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_BYTES_MAX) {
    reader.fault("schema", `is too long; the limit is ${SCHEMA_BYTES_MAX.toLocaleString("en")} bytes`);
    return null;
  }
  if (isStorable(schema)) return schema;
  reader.fault("schema", NOT_TEXT);
  return null;
}

/** `true`, `false` or `{ sources: true }`. */
function readWebSearch(reader: FieldReader): WebSearchChoice | false | null {
  const node = reader.node("webSearch");
  if (node === null) return null;
  if (node.kind === "boolean") return node.value ? { sources: false } : false;
  if (node.kind !== "map") {
    reader.fault("webSearch", `must be true, false, or { sources: true }, got ${kindName(node)}`);
    return null;
  }
  const search = new FieldReader(node, reader.fieldPath("webSearch"), reader.faults);
  const sources = search.flag("sources");
  search.finish();
  return { sources };
}

function toJson(node: SourceNode): JsonValue {
  if (node.kind === "nothing") return null;
  if (node.kind === "list") return node.items.map(toJson);
  if (node.kind === "map") return Object.fromEntries(node.entries.map(({ key, value }) => [key, toJson(value)]));
  return node.value;
}

export function readTemplate(reader: FieldReader, name: string): TemplateText | null {
  const text = reader.text(name, TEMPLATE_RULE);
  if (text === null) return null;
  const node = reader.node(name);
  const location = node?.kind === "text" ? node.location : undefined;
  if (location === undefined) return { text: cleanTemplate(text), line: reader.lineOf(name), indent: null };
  return { text: cleanTemplate(text), line: location.line + blankLinesBefore(text), indent: location.indent };
}
