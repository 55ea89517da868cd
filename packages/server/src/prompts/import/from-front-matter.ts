/** Dotprompt (`*.prompt`, Handlebars) and Prompty (`*.prompty`, Jinja): YAML between two lines, then the template. */
import { parse } from "yaml";
import type { ImportedInput, ImportedPrompt } from "./imported-prompt.ts";
import { objectOf, notesOnOthers, numberOf, textOf, textsOf } from "./read-values.ts";
import type { PlainObject } from "../../platform/json.ts";

function split(text: string): { readonly front: PlainObject; readonly body: string } {
  const [, front = "", body = text] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*\r?$\n?([\s\S]*)$/m.exec(text) ?? [];
  return { front: objectOf(parse(front, { schema: "core", logLevel: "error" })), body: body.replaceAll("\r\n", "\n") };
}

export function readDotprompt(text: string, fallbackName: string): ImportedPrompt[] {
  const { front, body } = split(text);
  const [config, input, output] = [objectOf(front["config"]), objectOf(front["input"]), objectOf(front["output"])];
  const notes = notesOnOthers(front, [
    "name",
    "description",
    "model",
    "config",
    "input",
    "output",
    "variant",
    "version",
  ]);
  notes.push(
    ...notesOnOthers(config, ["temperature", "topP", "seed", "stopSequences", "maxOutputTokens"]).map(
      (note) => `config.${note}`,
    ),
  );
  const without = body.replaceAll(/\{\{~?\s*(media\b[^{}]*|history|section\b[^{}]*)\s*~?\}\}/g, (whole) => {
    notes.push(`${whole} was left out. Images are slots under "images".`);
    return "";
  });
  return [
    {
      name: textOf(front["name"]) ?? fallbackName,
      description: textOf(front["description"]),
      model: textOf(front["model"]) ?? null,
      messages: splitByRole(without, /\{\{~?\s*role\s+"(\w+)"\s*~?\}\}/g),
      syntax: "mustache",
      settings: readSettings(config, "topP", "stopSequences"),
      maxOutputTokens: numberOf(config["maxOutputTokens"]),
      outputSchema: isJsonSchema(output["schema"]) ? output["schema"] : noteOnSchema(output["schema"], notes),
      inputs: readPicoschema(input["schema"], objectOf(input["default"])),
      samples: [],
      notes,
    },
  ];
}

export function readPrompty(text: string, fallbackName: string): ImportedPrompt[] {
  const { front, body } = split(text);
  const model = objectOf(front["model"]);
  const configuration = objectOf(model["configuration"]);
  const parameters = objectOf(model["parameters"] ?? model["options"]);
  const notes = notesOnOthers(
    front,
    "name description authors tags version model inputs sample outputs template $schema".split(" "),
  );
  notes.push(
    ...notesOnOthers(parameters, "temperature top_p seed stop max_tokens maxOutputTokens topP".split(" ")).map(
      (note) => `parameters.${note}`,
    ),
  );
  const sample = objectOf(front["sample"]);
  const images = /!\[[^\]]*\]\([^)]*\)/g;
  if (images.test(body)) notes.push('Images in the text were left out. Add them as slots under "images".');
  const samples = Object.fromEntries(Object.entries(sample).flatMap(([key, value]) => pairOf(key, value)));
  return [
    {
      name: textOf(front["name"]) ?? fallbackName,
      description: textOf(front["description"]),
      tags: textsOf(front["tags"]),
      model: textOf(configuration["name"]) ?? textOf(configuration["azure_deployment"]) ?? textOf(model["id"]) ?? null,
      messages: splitByRole(body.replaceAll(images, ""), /^(system|user|assistant|developer):[ \t]*$/gm),
      syntax: "jinja",
      settings: readSettings(parameters, "top_p", "stop"),
      maxOutputTokens: numberOf(parameters["max_tokens"] ?? parameters["maxOutputTokens"]),
      inputs: readPromptyInputs(objectOf(front["inputs"])),
      samples: Object.keys(samples).length === 0 ? [] : [samples],
      notes,
    },
  ];
}

function readSettings(members: PlainObject, topP: string, stop: string) {
  return {
    temperature: numberOf(members["temperature"]),
    topP: numberOf(members[topP]),
    seed: numberOf(members["seed"]),
    stop: textsOf(members[stop]),
  };
}

/** @param marker with the role as its first group. */
function splitByRole(body: string, marker: RegExp): { role: string; text: string }[] {
  const marks = [...body.matchAll(marker)];
  const first = marks[0]?.index ?? body.length;
  const parts = marks.map((mark, at) => ({
    role: mark[1] ?? "user",
    text: body.slice(mark.index + mark[0].length, marks[at + 1]?.index ?? body.length),
  }));
  return [{ role: "user", text: body.slice(0, first) }, ...parts].filter(({ text }) => text.trim() !== "");
}

function isJsonSchema(value: unknown): boolean {
  return objectOf(value)["type"] === "object" && typeof objectOf(value)["properties"] === "object";
}

function noteOnSchema(schema: unknown, notes: string[]): undefined {
  if (schema !== undefined)
    notes.push(`output.schema was left out because it is written in Picoschema:  ${JSON.stringify(schema)}`);
  return undefined;
}

/** `name?: string, description` */
function readPicoschema(schema: unknown, defaults: PlainObject): ReadonlyMap<string, ImportedInput> {
  const members = isJsonSchema(schema) ? objectOf(objectOf(schema)["properties"]) : objectOf(schema);
  const pairs = Object.entries(members).map(([name, value]): [string, ImportedInput] => {
    const key = name.replace(/\?$/, "").replace(/\(.*\)$/, "");
    const description = textOf(value)?.split(",").slice(1).join(",").trim() ?? textOf(objectOf(value)["description"]);
    return [key, { description: description === "" ? undefined : description, default: textOf(defaults[key]) }];
  });
  return new Map(pairs);
}

function readPromptyInputs(inputs: PlainObject): ReadonlyMap<string, ImportedInput> {
  const pairs = Object.entries(inputs).map(([name, value]): [string, ImportedInput] => {
    const { description, default: usual } = objectOf(value);
    return [name, { description: textOf(description), default: textOf(usual) }];
  });
  return new Map(pairs);
}

function pairOf(key: string, value: unknown): [string, string][] {
  const text = textOf(value);
  return text === undefined ? [] : [[key, text]];
}
