/** Checks code blocks that are not programs: responses, settings, prompt files. */
import { endpointSchemas } from "@promptd/contract/schemas";
import { manageSchemas } from "@promptd/contract/manage/schemas";
import { overlayFileSchema } from "../../../server/src/models/catalogue/catalogue-file.ts";
import { readYamlSource } from "../../../server/src/prompts/format/read-source.ts";
import { FaultList } from "../../../server/src/prompts/prompt-fault.ts";
import { readRows } from "../../src/batches/read-rows.ts";
import type { Block } from "./blocks.ts";

const ANSWERS = [...Object.values(endpointSchemas), ...Object.values(manageSchemas)].map(({ data }) => data);

/** Another program's settings: what an agent host reads. */
const HOSTS = ["mcpServers", "servers"];

/** @returns what the JSON is. @throws Error for what is none of the things that the pages show. */
export function checkJson({ text }: Block): string {
  const value = JSON.parse(text) as Record<string, unknown>;
  if (HOSTS.some((name) => name in value)) return "the settings of a host";
  if ("formatVersion" in value) {
    overlayFileSchema.parse(value);
    return "an overlay";
  }
  if ("model" in value) {
    overlayFileSchema.parse({ formatVersion: 1, models: [value] });
    return "an entry of an overlay";
  }
  const data: unknown = value["status"] === "SUCCESS" ? value["data"] : value;
  const whole = JSON.parse(
    JSON.stringify(data).replaceAll(/"([0-9a-f]{4})…"/g, '"$1a1b2-3c4d-7e5f-8a6b-7c8d9e0f1a2b"'),
  ) as unknown;
  const isAnswer = ANSWERS.some((schema) => schema !== null && schema.safeParse(whole).success);
  if (!isAnswer) throw new Error("No endpoint of the contract answers that.");
  return "an answer";
}

export function checkCsv({ text }: Block): void {
  if (readRows("page.csv", text).length === 0) throw new Error("It has no row.");
}

/** Lines of `name = value` in sections, with comments. */
export function checkIni({ text }: Block): void {
  for (const line of text.split("\n")) {
    if (!/^(;.*|\[[a-z]+\]|[a-z_]+ = .+)?$/.test(line)) throw new Error(`"${line}" is not a setting.`);
  }
}

/** Another program's file: the jobs of Prometheus. */
export const isScrapeConfig = ({ text }: Block): boolean => /^scrape_configs:$/m.test(text);

/** @throws Error if it is not YAML, or has no target. */
export function checkScrapeConfig({ text }: Block): void {
  const faults = new FaultList();
  const file = readYamlSource(text, 1, faults);
  if (file === null) throw new Error(JSON.stringify(faults.faults));
  if (!/^ +- targets: \[[a-z0-9.-]+:\d+(, [a-z0-9.-]+:\d+)*\]$/m.test(text)) throw new Error("It has no target.");
}

/** A complete prompt file made from the fields or the template that a page shows. */
export function promptFileOf({ language, text }: Block): { readonly name: string; readonly text: string } {
  if (language === "markdown") return { name: "page.prompt.md", text };
  if (language === "liquid")
    return { name: "page.prompt.md", text: fileOf("inputs: { ingredients: { type: list } }\n", text) };
  if (/^template:/m.test(text)) return { name: "page.prompt.yaml", text: `${text}inputs: { topic: {} }\n` };
  const names = ["topic", "tone"].filter((name) => new RegExp(`\\b${name}:`).test(text));
  const inputs =
    names.length === 0 ? "" : `inputs: { ${names.map((name) => `${name}: { default: tea }`).join(", ")} }\n`;
  return {
    name: "page.prompt.md",
    text: fileOf(inputs + text, names.map((name) => `{{ ${name} }}`).join(", ") || "Answer."),
  };
}

/** The required fields of a prompt file, for pages that do not show them. */
function fileOf(fields: string, body: string): string {
  const head = ["promptd: 1", "title: Example", "model: sandbox/text"];
  const missing = head.filter((line) => !new RegExp(`^${line.split(":")[0]}:`, "m").test(fields));
  return `---\n${missing.join("\n")}\n${fields}---\n${body}\n`;
}
