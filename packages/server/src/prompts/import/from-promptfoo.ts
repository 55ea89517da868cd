/** `promptfooconfig.yaml`: prompts (texts, or lists of messages as JSON), providers and tests. */
import type { ImportedPrompt } from "./imported-prompt.ts";
import { listOf, membersOf, notesOnOthers, numberOf, textOf, type Members } from "./read-values.ts";

export function readPromptfoo(value: unknown, fallbackName: string): ImportedPrompt[] {
  const all = membersOf(value);
  const [provider] = listOf(all["providers"]);
  const config = membersOf(membersOf(provider)["config"]);
  const tests = listOf(all["tests"]).map(membersOf);
  const others = notesOnOthers(all, ["description", "prompts", "providers", "tests", "$schema"]);
  const asserts = tests.flatMap((test) => listOf(test["assert"]));
  const notes = asserts.length === 0 ? others : [...others, `tests: ${asserts.length} assertions were left out.`];
  return listOf(all["prompts"]).map((one, at) => {
    const written = textOf(one) ?? textOf(membersOf(one)["raw"]) ?? "";
    const isFile = written.startsWith("file://");
    return {
      name:
        textOf(membersOf(one)["label"]) ??
        (at === 0 ? (textOf(all["description"]) ?? fallbackName) : `${fallbackName} ${at + 1}`),
      model: textOf(provider) ?? textOf(membersOf(provider)["id"]) ?? null,
      messages: isFile ? [{ role: "user", text: "…" }] : readMessages(written),
      syntax: "jinja",
      settings: { temperature: numberOf(config["temperature"]), topP: numberOf(config["top_p"]) },
      maxOutputTokens: numberOf(config["max_tokens"] ?? config["max_output_tokens"]),
      inputs: new Map(),
      samples: tests.flatMap((test) => sampleOf(membersOf(test["vars"]))),
      notes: isFile ? [...notes, `The prompt stands in ${written}: put its text below.`] : notes,
    } satisfies ImportedPrompt;
  });
}

function readMessages(text: string): { role: string; text: string }[] {
  if (!text.trimStart().startsWith("[")) return [{ role: "user", text }];
  try {
    const messages = listOf(JSON.parse(text)).map(membersOf);
    return messages.map(({ role, content }) => ({ role: textOf(role) ?? "user", text: textOf(content) ?? "" }));
  } catch {
    return [{ role: "user", text }];
  }
}

function sampleOf(vars: Members): Record<string, string>[] {
  const pairs = Object.entries(vars).flatMap(([key, value]) => {
    const text = textOf(value);
    return text === undefined || text.startsWith("file://") ? [] : [[key, text] as const];
  });
  return pairs.length === 0 ? [] : [Object.fromEntries(pairs)];
}
