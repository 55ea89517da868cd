/** `promptfooconfig.yaml`: prompts (texts, or lists of messages as JSON), providers and tests. */
import type { ImportedPrompt } from "./imported-prompt.ts";
import { listOf, objectOf, notesOnOthers, numberOf, textOf, textsOf } from "./read-values.ts";
import { parseJson, type PlainObject } from "../../platform/json.ts";

export function readPromptfoo(value: unknown, fallbackName: string): ImportedPrompt[] {
  const all = objectOf(value);
  const [provider] = listOf(all["providers"]);
  const config = objectOf(objectOf(provider)["config"]);
  const tests = listOf(all["tests"]).map(objectOf);
  const others = notesOnOthers(all, ["description", "prompts", "providers", "tests", "$schema"]);
  const read = tests.map(readTest);
  const notes = [...others, ...read.flatMap(({ lost }) => lost)];
  return listOf(all["prompts"]).map((one, at) => {
    const written = textOf(one) ?? textOf(objectOf(one)["raw"]) ?? "";
    const isFile = FILE.test(written.trim());
    return {
      name:
        textOf(objectOf(one)["label"]) ??
        (at === 0 ? (textOf(all["description"]) ?? fallbackName) : `${fallbackName} ${at + 1}`),
      model: textOf(provider) ?? textOf(objectOf(provider)["id"]) ?? null,
      messages: isFile ? [{ role: "user", text: "…" }] : readMessages(written),
      syntax: "jinja",
      settings: { temperature: numberOf(config["temperature"]), topP: numberOf(config["top_p"]) },
      maxOutputTokens: numberOf(config["max_tokens"] ?? config["max_output_tokens"]),
      inputs: new Map(),
      samples: read.flatMap(({ inputs, test }) => (inputs === null || test !== null ? [] : [inputs])),
      tests: read.flatMap(({ test }, index) => (test === null ? [] : [{ name: `Test ${index + 1}`, ...test }])),
      notes: isFile ? [...notes, `The text of the prompt is in ${written}. Copy it below.`] : notes,
    } satisfies ImportedPrompt;
  });
}

/** Prompts and values that are in other files. */
const FILE = /^(?:file:\/\/\S+|[\w./*-]+\.(?:txt|json|ya?ml|[cm]?[jt]s|py|md|csv|j2))$/;

function readMessages(text: string): { role: string; text: string }[] {
  if (!text.trimStart().startsWith("[")) return [{ role: "user", text }];
  const messages = parseJson(text);
  if (messages === undefined) return [{ role: "user", text }];
  return listOf(messages)
    .map(objectOf)
    .map(({ role, content }) => ({ role: textOf(role) ?? "user", text: textOf(content) ?? "" }));
}

/**
 * Reads one test. `inputs` is null if none can be written to a prompt file; `test` is null if it has no inputs or no
 * assertions that promptd can check.
 */
function readTest({ vars, assert, description }: PlainObject) {
  const inputs = sampleOf(objectOf(vars));
  const all = listOf(assert).map(objectOf);
  const texts = (type: string) =>
    all.filter((one) => one["type"] === type).flatMap((one) => textsOf(one["value"]) ?? []);
  const [contains, notContains, matches, judge] = [
    [...texts("contains"), ...texts("contains-all")],
    texts("not-contains"),
    texts("regex"),
    texts("llm-rubric"),
  ];
  const expect = {
    ...(contains.length === 0 ? {} : { contains }),
    ...(notContains.length === 0 ? {} : { notContains }),
    ...(matches[0] === undefined ? {} : { matches: matches[0] }),
    ...(judge.length === 0 ? {} : { judge }),
  };
  const lost = [
    ...all.filter(({ type }) => !KNOWN_ASSERTS.has(String(type))),
    ...all.filter(({ type }) => type === "regex").slice(1),
  ];
  const name = textOf(description);
  const isTest = inputs !== null && Object.keys(expect).length > 0;
  return {
    inputs,
    test: isTest ? { ...(name === undefined ? {} : { name }), inputs, expect } : null,
    lost: lost.map((one) => `A test assertion was left out:  ${JSON.stringify(one).slice(0, 200)}`),
  };
}

const KNOWN_ASSERTS = new Set(["contains", "contains-all", "not-contains", "regex", "llm-rubric"]);

function sampleOf(vars: PlainObject): Record<string, string> | null {
  const pairs = Object.entries(vars).flatMap(([key, value]) => {
    const text = textOf(value);
    return text === undefined || text.startsWith("file://") ? [] : [[key, text] as const];
  });
  return pairs.length === 0 ? null : Object.fromEntries(pairs);
}
