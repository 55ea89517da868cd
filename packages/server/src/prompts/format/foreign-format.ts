/** Formats of other tools that can be converted to prompt files. */
export const FOREIGN_FORMATS = ["openai", "langfuse", "dotprompt", "prompty", "promptfoo", "mustache"] as const;
export type ForeignFormat = (typeof FOREIGN_FORMATS)[number];

const NAMES: Readonly<Record<ForeignFormat, string>> = {
  openai: "an OpenAI prompt",
  langfuse: "a Langfuse prompt",
  dotprompt: "a Dotprompt file",
  prompty: "a Prompty file",
  promptfoo: "a promptfoo configuration",
  mustache: "a Mustache template",
};

/** Guesses the format of a text that is not a prompt file; null: unknown. */
export function recognizeFormat(text: string): ForeignFormat | null {
  if (/^\s*[{[]/.test(text)) {
    if (/"promptd"\s*:/.test(text)) return null;
    if (/"prompt"\s*:\s*(?:"|\[)/.test(text) && /"(?:config|labels|type|name)"\s*:/.test(text)) return "langfuse";
    return /"(?:input|instructions|messages|prompt)"\s*:/.test(text) ? "openai" : null;
  }
  if (/^\uFEFF?---[ \t]*\r?\n/.test(text)) {
    const front = /^---[ \t]*\r?\n([\s\S]*?)^---/m.exec(text)?.[1] ?? "";
    if (/^promptd[ \t]*:/m.test(front)) return null;
    if (/^(?:system|user|assistant):[ \t]*$/m.test(text.slice(front.length))) return "prompty";
    return /^(?:model|input|config|output)[ \t]*:/m.test(front) ? "dotprompt" : null;
  }
  if (/^prompts[ \t]*:/m.test(text) && /^(?:providers|tests)[ \t]*:/m.test(text)) return "promptfoo";
  return /\{\{[#^/>{!]?[\s\w.]+\}?\}\}/.test(text) ? "mustache" : null;
}

/** A hint for the author of such a file, or null. */
export function importHint(text: string): string | null {
  const format = recognizeFormat(text);
  if (format === null) return null;
  return `This appears to be ${NAMES[format]}. To convert it to a prompt file, run "promptd prompt import --from ${format} FILE --out DIR".`;
}
