/**
 * How long one command takes to publish a folder of a thousand prompt files, and to publish it again unchanged.
 *
 *   node --conditions=promptd-source bench/publish-folder.ts --catalogue prompts.json [--files 1000]
 *
 * The catalogue is a JSON list of `{title, description, tags, modality, variables, text}`, such as a collection of
 * published prompts; inputs, options and images of the files are varied by their number. Prints one JSON line and
 * writes it to bench/results/. The command runs in a process of its own, on an embedded database.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { expressionOf } from "../packages/server/src/prompts/template/template-language.ts";
import { keyProblem } from "../packages/server/src/prompts/input-rules.ts";
import { writePromptFile } from "../packages/server/src/prompts/format/write-prompt-file.ts";
import { readCommit } from "./commit.ts";
import { measureOnDatabase } from "./measure-on-database.ts";

interface CollectedPrompt {
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly modality: "text" | "image";
  readonly variables: readonly { readonly name: string; readonly default?: string }[];
  readonly text: string;
}

const { values } = parseArgs({
  options: {
    catalogue: { type: "string" },
    files: { type: "string", default: "1000" },
    out: { type: "string", default: join(import.meta.dirname, "results", "publish-folder.json") },
  },
});
const PROGRAM = join(import.meta.dirname, "../packages/cli/bin/promptd.js");

await measureOnDatabase("embedded", values.out, async (server) => {
  const folder = mkdtempSync(join(tmpdir(), "promptd-folder-"));
  try {
    return measure(folder, server.url);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function measure(folder: string, url: string) {
  const names = writeFiles(folder, Number(values.files));
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
  const load = Number((loadavg()[0] ?? 0).toFixed(1));
  return { commit: readCommit(), files: names.length, first, second, cpus: cpus().length, load };
}

function writeFiles(folder: string, count: number): string[] {
  if (values.catalogue === undefined) throw new Error("--catalogue FILE is required.");
  const collected = JSON.parse(readFileSync(values.catalogue, "utf8")) as CollectedPrompt[];
  mkdirSync(join(folder, "prompts"));
  return Array.from({ length: count }, (_, number) => {
    const prompt = collected[Math.floor((number * collected.length) / count)];
    if (prompt === undefined) throw new Error("The catalogue is empty.");
    const name = join("prompts", `${String(number).padStart(4, "0")}.prompt.md`);
    writeFileSync(join(folder, name), textOf(prompt, number));
    return name;
  });
}

/** As an author would write it: placeholders of the collection become inputs, which differ in what they say. */
function textOf(prompt: CollectedPrompt, number: number): string {
  const variables = prompt.variables.filter(
    ({ name }, at, all) => keyProblem(name) === null && all.findIndex((other) => other.name === name) === at,
  );
  const kinds = [
    () => ({}),
    () => ({ label: "What it is about", description: "In a few words", maxLength: 400 }),
    () => ({ default: "something new" }),
    () => ({ options: ["short", "long"], default: "short" }),
    () => ({ default: "", allowEmpty: true }),
  ];
  const inputs = variables.map(({ name }, at): [string, object] => [
    name,
    (kinds[(number + at) % kinds.length] ?? Object)(),
  ]);
  const reads = variables.map(({ name }) => `{{ ${expressionOf(name)} }}`);
  const isImage = prompt.modality === "image" || number % 4 === 0;
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
  const names = new Set(variables.map(({ name }) => name));
  return text.replaceAll(
    /\$?\{\s*([^{}\n:]{1,100}?)\s*(?::[^{}\n]*)?\}|\[\[\s*([^[\]\n]+?)\s*\]\]/g,
    (whole, one, two) => {
      const name = String(one ?? two);
      return names.has(name) ? `{{ ${expressionOf(name)} }}` : whole;
    },
  );
}
