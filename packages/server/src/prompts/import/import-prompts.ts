/** Makes prompt files from files of other tools. */
import { parse } from "yaml";
import type { Catalogue } from "../../models/index.ts";
import { Problem } from "../../platform/problem.ts";
import type { ForeignFormat } from "../format/foreign-format.ts";
import type { PromptFile } from "../format/prompt-file.ts";
import { readDotprompt, readPrompty } from "./from-front-matter.ts";
import { readLangfuse } from "./from-langfuse.ts";
import { readOpenAi } from "./from-openai.ts";
import { readPromptfoo } from "./from-promptfoo.ts";
import { hasText, writeImported, type ImportedFile, type ImportedPrompt } from "./imported-prompt.ts";

type Read = (text: string, fallbackName: string) => ImportedPrompt[];

const READERS: Readonly<Record<ForeignFormat, Read>> = {
  openai: (text, name) => readOpenAi(JSON.parse(text), name),
  langfuse: (text, name) => readLangfuse(JSON.parse(text), name),
  dotprompt: readDotprompt,
  prompty: readPrompty,
  promptfoo: (text, name) => readPromptfoo(parse(text, { schema: "core", logLevel: "error" }), name),
  mustache: (text, name) => [
    {
      name,
      model: null,
      messages: [{ role: "user", text }],
      syntax: "mustache",
      settings: {},
      inputs: new Map(),
      samples: [],
      notes: [],
    },
  ],
};

/**
 * @param file its name becomes the title if the file has none.
 * @throws Problem VALIDATION_ERROR when the file is not of this format.
 */
export function importPrompts(file: PromptFile, format: ForeignFormat, catalogue: Catalogue): ImportedFile[] {
  const prompts = read(file, format)
    .filter(hasText)
    .map((prompt) => (prompt.name.trim() === "" ? { ...prompt, name: "Prompt" } : prompt));
  if (prompts.length === 0) throw unfit(file.name, format, "it has no prompt text");
  return prompts.map((prompt) => writeImported(prompt, catalogue));
}

function read({ name, text }: PromptFile, format: ForeignFormat): ImportedPrompt[] {
  const base = name.replace(/^.*[/\\]/, "").replace(/\.(?:json|ya?ml|prompty|prompt|mustache|hbs|txt|md)$/i, "");
  try {
    return READERS[format](text, base === "" ? "Prompt" : base);
  } catch (error) {
    throw unfit(name, format, reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isDeep = error instanceof RangeError || Reflect.get(error, "code") === "RESOURCE_EXHAUSTION";
  return isDeep ? "it is nested too deeply" : (error.message.split("\n")[0] ?? "").replace(/:$/, "");
}

function unfit(name: string, format: ForeignFormat, why: string): Problem {
  return new Problem("VALIDATION_ERROR", `${name} cannot be read in the ${format} format: ${why}.`);
}
