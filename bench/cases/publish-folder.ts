/**
 * How long one command takes to publish a folder of a thousand prompt files, and to publish it again unchanged.
 *
 * The files are the prompts of the search corpus that have a text, with inputs, options, and images varied by number. The
 * command runs in its own process, on an embedded database.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expressionOf } from "../../packages/server/src/prompts/template/template-language.ts";
import { keyProblem } from "../../packages/server/src/prompts/text-input-rules.ts";
import { writePromptFile } from "../../packages/server/src/prompts/format/write-prompt-file.ts";
import { defineCase } from "../harness/bench-case.ts";
import { onDatabase } from "../harness/on-database.ts";
import { readCorpus, type CorpusPrompt } from "../search/evaluation-data.ts";

type CollectedPrompt = CorpusPrompt & { readonly text: string };

const PROGRAM = join(import.meta.dirname, "../../packages/cli/bin/promptd.js");

export const publishFolder = defineCase({
  sizes: { files: [1_000, 40] },
  measure: ({ database, sizes }) =>
    onDatabase(database, async (server) => {
      const folder = mkdtempSync(join(tmpdir(), "promptd-folder-"));
      try {
        return measure(folder, server.url, sizes.files);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }),
});

function measure(folder: string, url: string, files: number) {
  const names = writeFiles(folder, files);
  const env = { ...process.env, DATABASE_URL: url, PROMPTD_DATA_DIR: join(folder, "data") };
  const promptd = (...argv: string[]): string =>
    execFileSync(process.execPath, [PROGRAM, ...argv], { cwd: folder, env, encoding: "utf8", maxBuffer: 1e9 });
  promptd("admin", "user", "create", "--email", "ada@example.org");
  const publish = () => {
    const began = performance.now();
    const rows = JSON.parse(promptd("prompt", "publish", ...names, "--author", "ada@example.org", "--json")) as {
      outcome: string;
    }[];
    const seconds = Number(((performance.now() - began) / 1_000).toFixed(1));
    const counts = Object.fromEntries(
      Map.groupBy(rows, (row) => row.outcome)
        .entries()
        .map(([key, all]) => [key, all.length]),
    );
    return { seconds, ...counts };
  };
  const [first, second] = [publish(), publish()];
  return { first, second };
}

function writeFiles(folder: string, count: number): string[] {
  const collected = readCorpus().filter((prompt): prompt is CollectedPrompt => prompt.text !== undefined);
  mkdirSync(join(folder, "prompts"));
  return Array.from({ length: count }, (_, number) => {
    const prompt = collected[Math.floor((number * collected.length) / count)];
    if (prompt === undefined) throw new Error("The corpus has no prompt with a text.");
    const name = join("prompts", `${String(number).padStart(4, "0")}.prompt.md`);
    writeFileSync(join(folder, name), textOf(prompt, number));
    return name;
  });
}

/** As an author would write it: the collection's placeholders become inputs with different fields. */
function textOf(prompt: CollectedPrompt, number: number): string {
  const variables = prompt.variables.filter((name, at, all) => keyProblem(name) === null && all.indexOf(name) === at);
  const kinds = [
    () => ({}),
    () => ({ label: "What it is about", description: "In a few words", maxLength: 400 }),
    () => ({ default: "something new" }),
    () => ({ options: ["short", "long"], default: "short" }),
    () => ({ default: "", allowEmpty: true }),
  ];
  const inputs = variables.map((name, at): [string, object] => [
    name,
    (kinds[(number + at) % kinds.length] ?? Object)(),
  ]);
  const reads = variables.map((name) => `{{ ${expressionOf(name)} }}`);
  const isImage = number % 4 === 0;
  const body = /\{[{%]/.test(prompt.text) ? `{% raw %}${prompt.text}{% endraw %}` : prompt.text;
  return writePromptFile({
    comments: [],
    fields: {
      title: `${prompt.title} ${number}`.slice(-110),
      description: prompt.description,
      tags: prompt.tags.slice(0, 8),
      model: isImage ? "sandbox/image" : "sandbox/text",
      inputs: inputs.length === 0 ? undefined : new Map(inputs),
      images: isImage && number % 3 !== 0 ? [{ label: "Photo", description: "One well-lit subject" }] : undefined,
      options: isImage ? { quality: number % 2 === 0 ? "high" : "low" } : { reasoningEffort: "low" },
      instructions: number % 5 === 0 ? "Answer in the language of the request." : undefined,
      maxOutputTokens: isImage ? undefined : 600 + (number % 7) * 100,
    },
    body: reads.length === 0 ? body : `${replacePlaceholders(body, variables)}\n\n${reads.join(", ")}`,
  });
}

function replacePlaceholders(text: string, variables: CollectedPrompt["variables"]): string {
  const names = new Set(variables);
  return text.replaceAll(
    /\$?\{\s*([^{}\n:]{1,100}?)\s*(?::[^{}\n]*)?\}|\[\[\s*([^[\]\n]+?)\s*\]\]/g,
    (whole, one, two) => {
      const name = String(one ?? two);
      return names.has(name) ? `{{ ${expressionOf(name)} }}` : whole;
    },
  );
}
