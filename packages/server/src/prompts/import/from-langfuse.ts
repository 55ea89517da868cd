/** Reads prompts as the Langfuse API returns them: `{name, type, prompt, config, tags, labels}`, one or a list. */
import type { ImportedPrompt } from "./imported-prompt.ts";
import { entriesOf, listOf, objectOf, notesOnOthers, numberOf, textOf, textsOf } from "./read-values.ts";
import type { PlainObject } from "../../platform/json.ts";

const KNOWN =
  "id name type prompt config tags labels version createdAt updatedAt projectId createdBy isActive lastUpdatedAt lastConfig versions commitMessage resolutionGraph".split(
    " ",
  );
const KNOWN_CONFIG =
  "model temperature top_p topP seed stop max_tokens max_output_tokens maxTokens reasoning_effort response_format json_schema".split(
    " ",
  );

export function readLangfuse(value: unknown, fallbackName: string): ImportedPrompt[] {
  return entriesOf(value).map((one) => readOne(objectOf(one), fallbackName));
}

function readOne(all: PlainObject, fallbackName: string): ImportedPrompt {
  const config = objectOf(all["config"]);
  const notes = [...notesOnOthers(all, KNOWN), ...notesOnOthers(config, KNOWN_CONFIG).map((note) => `config.${note}`)];
  const labels = textsOf(all["labels"]);
  if (labels !== undefined) notes.push(`The prompt had the labels ${labels.join(", ")}.`);
  const format = objectOf(config["response_format"]);
  return {
    name: textOf(all["name"])?.split("/").at(-1) ?? fallbackName,
    tags: textsOf(all["tags"]),
    model: textOf(config["model"]) ?? null,
    messages: readPrompt(all["prompt"], notes),
    syntax: "mustache",
    settings: {
      temperature: numberOf(config["temperature"]),
      topP: numberOf(config["top_p"] ?? config["topP"]),
      seed: numberOf(config["seed"]),
      stop: textsOf(config["stop"]),
    },
    reasoningEffort: textOf(config["reasoning_effort"]),
    maxOutputTokens: numberOf(config["max_tokens"] ?? config["max_output_tokens"] ?? config["maxTokens"]),
    outputSchema: config["json_schema"] ?? objectOf(format["json_schema"])["schema"],
    inputs: new Map(),
    samples: [],
    notes,
  };
}

function readPrompt(value: unknown, notes: string[]): { role: string; text: string }[] {
  if (typeof value === "string") return [{ role: "user", text: value }];
  return listOf(value).flatMap((one) => {
    const { role, content, type, name } = objectOf(one);
    if (type === "placeholder") {
      notes.push(`The message placeholder "${textOf(name) ?? ""}" was left out.`);
      return [];
    }
    return [{ role: textOf(role) ?? "user", text: textOf(content) ?? "" }];
  });
}
