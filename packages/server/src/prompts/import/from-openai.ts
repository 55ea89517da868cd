/**
 * Reads prompts that OpenAI stores until 30 November 2026. There is no export: people have the request that the
 * dashboard shows, or the response to a request that used the prompt, whose `instructions` contain its messages.
 */
import type { ImportedInput, ImportedPrompt } from "./imported-prompt.ts";
import { entriesOf, listOf, objectOf, notesOnOthers, numberOf, textOf, textsOf } from "./read-values.ts";
import type { PlainObject } from "../../platform/json.ts";

const KNOWN =
  "id object name title description version model instructions input messages prompt variables reasoning text temperature top_p seed stop max_output_tokens max_tokens max_completion_tokens response_format created_at metadata status output usage error incomplete_details store parallel_tool_calls previous_response_id background truncation user service_tier top_logprobs tools completed_at safety_identifier prompt_cache_key max_tool_calls tool_choice billing billed_to frequency_penalty presence_penalty".split(
    " ",
  );

export function readOpenAi(value: unknown, fallbackName: string): ImportedPrompt[] {
  const list = entriesOf(value);
  return list.map((one, at) => readOne(objectOf(one), list.length === 1 ? fallbackName : `${fallbackName} ${at + 1}`));
}

function readOne(all: PlainObject, fallbackName: string): ImportedPrompt {
  const prompt = objectOf(all["prompt"]);
  const format = objectOf(objectOf(all["text"])["format"] ?? all["response_format"]);
  const schema = format["schema"] ?? objectOf(format["json_schema"])["schema"];
  const notes = notesOnOthers(all, KNOWN);
  if (format["type"] === "json_object")
    notes.push("The response format was JSON without a schema. Add an output.schema.");
  const searchesWeb = readTools(all["tools"], notes);
  const id = textOf(prompt["id"]) ?? textOf(all["id"]);
  if (id?.startsWith("pmpt_") === true)
    notes.unshift(
      `Imported from the stored prompt ${id}, version ${textOf(prompt["version"]) ?? textOf(all["version"]) ?? "unknown"}.`,
    );
  return {
    name: textOf(all["name"]) ?? textOf(all["title"]) ?? fallbackName,
    description: textOf(all["description"]),
    model: textOf(all["model"]) ?? null,
    messages: [
      ...readMessages(all["instructions"], "system", notes),
      ...readMessages(all["input"] ?? all["messages"], "user", notes),
    ],
    syntax: "mustache",
    settings: {
      temperature: numberOf(all["temperature"]),
      topP: numberOf(all["top_p"]) === 1 ? undefined : numberOf(all["top_p"]),
      seed: numberOf(all["seed"]),
      stop: textsOf(all["stop"]),
    },
    reasoningEffort: textOf(objectOf(all["reasoning"])["effort"]),
    maxOutputTokens: numberOf(all["max_output_tokens"] ?? all["max_completion_tokens"] ?? all["max_tokens"]),
    outputSchema: schema,
    searchesWeb,
    inputs: readVariables(all["variables"] ?? prompt["variables"]),
    samples: [],
    notes,
  };
}

/** `web_search`, optionally followed by "preview" or a date. */
const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

/** @returns whether the model may search the web. Other tools and search settings have no counterpart. */
function readTools(value: unknown, notes: string[]): boolean {
  const tools = listOf(value).map(objectOf);
  const isSearch = ({ type }: PlainObject) => WEB_SEARCH.test(textOf(type) ?? "");
  const others = tools.filter((tool) => !isSearch(tool));
  const [search] = tools.filter(isSearch);
  if (search !== undefined)
    notes.push(...notesOnOthers(search, ["type"]).map((note) => `tools.${textOf(search["type"]) ?? ""}.${note}`));
  notes.push(...notesOnOthers({ tools: others }, []));
  return search !== undefined;
}

/** A text, or messages whose content is a text or a list of parts. */
function readMessages(value: unknown, role: string, notes: string[]): { role: string; text: string }[] {
  if (typeof value === "string") return [{ role, text: value }];
  return listOf(value).flatMap((one) => {
    const message = objectOf(one);
    const { content } = message;
    const parts =
      typeof content === "string" ? [content] : listOf(content).map((part) => textOf(objectOf(part)["text"]));
    const texts = parts.flatMap((part) => part ?? []);
    if (texts.length < parts.length) notes.push("A message part that is not text was left out. Add images as slots.");
    return texts.length === 0 ? [] : [{ role: textOf(message["role"]) ?? role, text: texts.join("\n\n") }];
  });
}

/** `{ name: value }`, or a list of names, or of `{ name, description, default }`. */
function readVariables(value: unknown): ReadonlyMap<string, ImportedInput> {
  if (Array.isArray(value)) {
    const pairs = value.map((one): [string, ImportedInput] => {
      const { name, description, default: usual, default_value: other } = objectOf(one);
      return [textOf(one) ?? textOf(name) ?? "", { description: textOf(description), default: textOf(usual ?? other) }];
    });
    return new Map(pairs);
  }
  return new Map(Object.keys(objectOf(value)).map((name) => [name, {}]));
}
