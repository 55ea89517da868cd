/** What the checks share: a server, a cheap prompt on it, and the one paid run. */
import { Mismatch, Skipped, type Exchange } from "./check.ts";
import { expectData, expectRows, isObject, type Json } from "./expect.ts";
import type { RequestOptions, Requests } from "./requests.ts";

export interface ConformContext extends Requests {
  /** Requests per second that the server admits. */
  readonly rate: number;
  /** A key of another account; null: checks that need it are skipped. */
  readonly otherKey: string | null;
  /** True: also check what the specification does not cover. */
  readonly extensions: boolean;
  /** A response that several checks read, requested once. */
  answer(path: string): Promise<Exchange>;
  /** @throws Skipped when no prompt was found. */
  prompt(): CheapPrompt;
  /** The paid run, created once. */
  run(): Promise<PaidRun>;
}

export interface CheapPrompt {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly title: string;
  /** Null: the server does not say. */
  readonly estimatedCredits: number | null;
  /** Whether any text input is required. An input counts as required unless the server says otherwise. */
  readonly hasRequiredInput: boolean;
  /** The `inputs` member of a run request. */
  readonly inputs: { readonly textInputs: Readonly<Record<string, string>>; readonly imageInputs: readonly [] };
}

interface PaidRun {
  readonly exchange: Exchange;
  readonly data: Json;
  readonly runId: string;
}

/** What the caller may specify about the prompt. promptId null: find one by search. */
export interface PromptChoice {
  readonly promptId: string | null;
  readonly inputs: Readonly<Record<string, string>>;
}

/** Words that match some prompt in every marketplace. */
const QUERIES = ["poem", "write a text", "summarize", "hello", "help"] as const;

/**
 * The named prompt, or the cheapest text prompt without images that search finds, if possible one whose model is
 * available. Null: there is none.
 */
export async function findPrompt(requests: Requests, wanted: PromptChoice): Promise<CheapPrompt | null> {
  if (wanted.promptId !== null) {
    const version = expectData(await requests.send(`/v1/prompts/${encodeURIComponent(wanted.promptId)}`));
    return toKitPrompt(version, version["config"], wanted.inputs);
  }
  for (const q of QUERIES) {
    const rows = expectRows(await requests.send(`/v1/prompts/publish?q=${encodeURIComponent(q)}`));
    const texts = rows
      .filter((row) => row["modality"] === 0 && !takesImages(row["configs"]))
      .toSorted((a, b) => Number(a["estimatedCredits"]) - Number(b["estimatedCredits"]));
    if (texts.length === 0) continue;
    const models = await readModels(requests);
    const found = texts.find(({ configs }) => isObject(configs) && models.has(configs["model"])) ?? texts[0];
    if (found !== undefined) return toKitPrompt(found, found["configs"], wanted.inputs);
  }
  return null;
}

/** The available models. Empty if the server does not list them; a check reports that. */
async function readModels(requests: Requests): Promise<ReadonlySet<unknown>> {
  const exchange = await requests.send("/v1/resources").catch((error: unknown) => {
    if (error instanceof Mismatch) return null;
    throw error;
  });
  const json = exchange?.response.json;
  const data = isObject(json) ? json["data"] : null;
  const resources = isObject(data) ? data["resources"] : null;
  const models = isObject(resources) ? resources["models"] : null;
  return new Set(Array.isArray(models) ? models.filter(isObject).map(({ model }) => model) : []);
}

function hasRequiredInput(config: unknown): boolean {
  const fields = isObject(config) && isObject(config["textInputs"]) ? config["textInputs"] : {};
  return Object.values(fields).some((field) => !isObject(field) || field["required"] !== false);
}

function takesImages(config: unknown): boolean {
  const images = isObject(config) ? config["imageInputs"] : undefined;
  if (Array.isArray(images)) return images.length > 0;
  return isObject(images) && Object.keys(images).length > 0;
}

function toKitPrompt(version: Json, config: unknown, given: Readonly<Record<string, string>>): CheapPrompt {
  const estimate = version["estimatedCredits"] ?? (isObject(config) ? config["estimatedCredits"] : undefined);
  return {
    promptId: String(version["promptId"]),
    promptVersionId: String(version["promptVersionId"]),
    title: String(version["title"]),
    estimatedCredits: typeof estimate === "number" ? estimate : null,
    hasRequiredInput: hasRequiredInput(config),
    inputs: { textInputs: { ...sampleInputs(config), ...given }, imageInputs: [] },
  };
}

/**
 * A value for each text input. The specification says only that the keys of `textInputs` are the inputs. If a field lists
 * options, the first one is used.
 */
function sampleInputs(config: unknown): Record<string, string> {
  const fields = isObject(config) && isObject(config["textInputs"]) ? config["textInputs"] : {};
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, sampleOf(field)]));
}

function sampleOf(field: unknown): string {
  if (!isObject(field)) return "tea";
  const { options, default: fallback, type, min } = field;
  if (typeof fallback === "string" && fallback !== "") return fallback;
  if (Array.isArray(options) && typeof options[0] === "string") return options[0];
  if (type === "number") return String(typeof min === "number" ? min : 1);
  if (type === "boolean") return "true";
  return type === "date" ? "2026-11-20" : "tea";
}

export interface ContextOptions extends Pick<ConformContext, "rate" | "otherKey" | "extensions"> {
  readonly requests: Requests;
  readonly prompt: CheapPrompt | null;
}

export function createKit({ requests, prompt, ...rest }: ContextOptions): ConformContext {
  const answers = new Map<string, Promise<Exchange>>();
  const found = (): CheapPrompt => {
    if (prompt !== null) return prompt;
    throw new Skipped("No text prompt without images was found. Name one with --prompt.");
  };
  let run: Promise<PaidRun> | null = null;
  return {
    ...requests,
    ...rest,
    answer: (path) => {
      const answer = answers.get(path) ?? requests.send(path);
      answers.set(path, answer);
      return answer;
    },
    prompt: found,
    run: () => (run ??= createRun(requests, found())),
  };
}

/** Includes members that the body table does not list, which must be ignored. */
async function createRun(requests: Requests, { promptVersionId, inputs }: CheapPrompt): Promise<PaidRun> {
  const body = { promptVersionId, inputs, runModel: "another-model", notListed: { by: ["the", "table"] } };
  const options: RequestOptions = { body };
  const exchange = await requests.send("/v1/runs", options);
  if (exchange.response.httpStatus === 504) return pollRun(requests, exchange);
  if (exchange.response.httpStatus === 402) throw new Skipped("The account does not have enough credits for a run.");
  const data = expectData(exchange);
  return { exchange, data, runId: String(data["runId"]) };
}

const POLLS_MAX = 100;

/** The run continues after a 504. */
async function pollRun(requests: Requests, created: Exchange): Promise<PaidRun> {
  const { json } = created.response;
  const context = isObject(json) ? json["data"] : null;
  const runId = isObject(context) ? String(context["runId"]) : "";
  for (let poll = 0; poll < POLLS_MAX; poll += 1) {
    const exchange = await requests.send(`/v1/runs/${runId}`);
    const data = expectData(exchange);
    if (data["runStatus"] === "succeeded" || data["runStatus"] === "failed") return { exchange, data, runId };
  }
  throw new Mismatch("a run that ends", created);
}
