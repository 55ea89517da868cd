/** The tools that every server has: find a prompt, show it, run it, and read a run. */
import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import { countOf, describeUnknownNames, type SearchRow } from "@promptd/contract";
import { z } from "zod";
import { describePrice, describePrompt, oneLine } from "../prompts/describe-prompt.ts";
import { findPrompt, type ShownPrompt } from "../prompts/find-prompts.ts";
import type { CallContext, McpSource } from "../source.ts";
import { describeIssue } from "./describe-issue.ts";
import { readImage } from "./image-arguments.ts";
import { readValue } from "./prompt-tools.ts";
import { describeRun, textResult } from "./result-content.ts";
import { runPromptTool } from "./run-tool.ts";

const PROMPT = z
  .string()
  .min(1)
  .describe(
    "Slug of the prompt, such as tea-poem; slug@label for a labeled version; or the id of a prompt or version.",
  );
const VALUE = z.union([z.string(), z.number(), z.boolean(), z.array(z.union([z.string(), z.number()]))]);

/**
 * Strict, like a chosen prompt's tool: a misspelled argument would have no effect, and the run would still cost
 * credits.
 */
const INPUTS = {
  search_prompts: z.strictObject({
    query: z.string().min(1).max(200).describe("What the prompt should do, in a few words."),
    limit: z.int().min(1).max(20).default(10).describe("How many prompts to show."),
  }),
  show_prompt: z.strictObject({ prompt: PROMPT }),
  run_prompt: z.strictObject({
    prompt: PROMPT,
    inputs: z.record(z.string(), VALUE).default({}).describe("Text inputs by name, as show_prompt lists them."),
    images: z
      .array(z.string().min(1))
      .default([])
      .describe("Images in the order of the prompt's slots: https URLs, data URLs, or Base64."),
    options: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .default({})
      .describe("Run options of the model, such as quality."),
    idempotencyKey: z
      .string()
      .regex(/^[\x21-\x7e]{1,255}$/)
      .optional()
      .describe(
        "Identifies this run for 24 hours: a call with the same key and arguments returns the same run, charged once.",
      ),
  }),
  get_run: z.strictObject({
    runId: z.string().describe("Id of a run that you created."),
    waitSeconds: z.int().min(0).max(60).default(0).describe("How long to wait for the run to finish."),
  }),
} as const;
type Name = keyof typeof INPUTS;

const READS = { readOnlyHint: true, openWorldHint: false } as const;
const ABOUT: Readonly<Record<Name, Pick<Tool, "title" | "description" | "annotations">>> = {
  search_prompts: {
    title: "Search prompts",
    description: "Find published prompts by what they do. Returns their slugs, prices, and inputs.",
    annotations: READS,
  },
  show_prompt: {
    title: "Show a prompt",
    description:
      "Show everything needed to run a prompt: inputs with types, defaults, and limits; images; options; price.",
    annotations: READS,
  },
  run_prompt: {
    title: "Run a prompt",
    description: "Run a prompt and wait for its output: text, images, or video. Costs credits; a failed run is free.",
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  },
  get_run: {
    title: "Get a run",
    description: "Get the state and outputs of an earlier run.",
    annotations: READS,
  },
};

export const GENERAL_TOOLS: readonly Tool[] = (Object.keys(INPUTS) as Name[]).map((name) => ({
  name,
  ...ABOUT[name],
  inputSchema: toSchema(INPUTS[name]),
}));

function toSchema(schema: z.ZodType): Tool["inputSchema"] {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io: "input" });
  return json as Tool["inputSchema"];
}

export function isGeneral(name: string): name is Name {
  return Object.hasOwn(INPUTS, name);
}

/** @throws RangeError for invalid arguments, PromptdError if the server rejects the call. */
export async function callGeneralTool(
  name: Name,
  given: unknown,
  source: McpSource,
  context: CallContext,
): Promise<CallToolResult> {
  return CALLS[name](given, source, context);
}

type GeneralCall = (given: unknown, source: McpSource, context: CallContext) => Promise<CallToolResult>;

const CALLS: Readonly<Record<Name, GeneralCall>> = {
  search_prompts: (given, ...rest) => searchPrompts(read("search_prompts", given), ...rest),
  show_prompt: (given, ...rest) => showPrompt(read("show_prompt", given), ...rest),
  run_prompt: (given, ...rest) => runPrompt(read("run_prompt", given), ...rest),
  get_run: (given, ...rest) => getRun(read("get_run", given), ...rest),
};

type Given<N extends Name> = z.output<(typeof INPUTS)[N]>;

function read<N extends Name>(name: N, given: unknown): Given<N> {
  const names = Object.keys(INPUTS[name].shape);
  const parsed = INPUTS[name].safeParse(given ?? {}, { error: (issue) => describeIssue(name, names, issue) });
  if (parsed.success) return parsed.data as Given<N>;
  const faults = parsed.error.issues.map(({ message }) => message);
  throw new RangeError([...faults, ...(name === "run_prompt" ? ["Nothing was run."] : [])].join(" "));
}

async function searchPrompts(
  { query, limit }: Given<"search_prompts">,
  { client }: McpSource,
  { signal }: CallContext,
): Promise<CallToolResult> {
  const rows = (await client.prompts.search(query, { signal })).rows.slice(0, limit);
  const lines = rows.map((row) => describeRow(row));
  const text = rows.length === 0 ? "No prompts match. Try other words." : lines.join("\n");
  return { ...textResult(text), structuredContent: { prompts: rows.map((row) => summaryOf(row)) } };
}

function describeRow(row: SearchRow): string {
  const { slug, title, description, configs, uses } = row;
  const inputs = Object.keys(configs.textInputs).map(oneLine).join(", ");
  const inputsText = inputs === "" ? "" : ` Inputs: ${inputs}.`;
  const images = configs.imageCount === 0 ? "" : ` Images: ${configs.imageCount}.`;
  const facts = `${configs.output.type}, ${describePrice(configs)}, ${countOf(uses, "run")}`;
  return `- ${slug}: ${oneLine(title)} (${facts}). ${oneLine(description)}${inputsText}${images}`;
}

function summaryOf({ slug, title, description, configs, uses, upVotes }: SearchRow) {
  return {
    slug,
    title,
    description,
    makes: configs.output.type,
    inputs: Object.keys(configs.textInputs),
    images: configs.imageCount,
    estimatedCredits: configs.estimatedCredits,
    uses,
    upVotes,
  };
}

async function showPrompt(
  { prompt }: Given<"show_prompt">,
  { client }: McpSource,
  { signal }: CallContext,
): Promise<CallToolResult> {
  const shown = await findPrompt(client, prompt, signal);
  return { ...textResult(describePrompt(shown)), structuredContent: { ...detailsOf(shown) } };
}

/** The details of a prompt, without its JSON Schema, which would repeat them. */
function detailsOf({ name, title, description, promptId, promptVersionId, config }: ShownPrompt) {
  const { inputSchema: _schema, ...rest } = config;
  return { prompt: name, title, description, promptId, promptVersionId, ...rest };
}

async function runPrompt(
  { prompt, inputs, images, options, idempotencyKey }: Given<"run_prompt">,
  source: McpSource,
  context: CallContext,
): Promise<CallToolResult> {
  const shown = await findPrompt(source.client, prompt, context.signal);
  const unknown = describeUnknownNames(shown.config, { inputs: Object.keys(inputs), options: Object.keys(options) });
  if (unknown.length > 0) throw new RangeError(`${unknown.join(" ")} Nothing was run.`);
  const values = Object.entries(inputs).map(([key, value]) => [key, readValue(key, value)] as const);
  const given = {
    inputs: Object.fromEntries(values),
    images: await Promise.all(images.map((image) => readImage(image, source))),
    options,
  };
  return runPromptTool(shown, given, source, { ...context, callKey: idempotencyKey ?? context.callKey });
}

async function getRun(
  { runId, waitSeconds }: Given<"get_run">,
  source: McpSource,
  { signal }: CallContext,
): Promise<CallToolResult> {
  const run = await source.client.runs.get(runId, { waitSeconds, signal });
  return describeRun({ run, output: null }, source, signal);
}
