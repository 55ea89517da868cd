/** Calls a model without a run, to try a prompt or the model itself: no database, nothing charged. */
import type { ModelTest } from "@promptd/contract/manage";
import { systemRandom } from "../../platform/resilience/retry.ts";
import { sleep } from "../../platform/resilience/deadline.ts";
import type { ModelAdapter, ModelCall, ModelQuestion, ModelResult } from "../ai-sdk/model-adapter.ts";
import { resolveMapping, type CatalogueEntry } from "../catalogue/catalogue.ts";
import type { JsonValue } from "../../platform/json.ts";
import { outputTokensMax } from "../pricing/output-limit.ts";
import { costMicro } from "../pricing/usage.ts";
import { makesJobs } from "../providers/provider.ts";
import { providerOf } from "../providers/all-providers.ts";
import { ATTEMPTS_MAX, backoffMs, isFinal } from "./attempt-limits.ts";
import { DECLINED, sentenceFor } from "./caller-text.ts";
import type { ModelRequest } from "./model-request.ts";
import { readJsonAnswer } from "./output-schema.ts";
import { runJob } from "./provider-jobs.ts";
import { withinTime } from "./time-limit.ts";

export type DirectRequest = Omit<ModelQuestion, "authorsText"> &
  Pick<ModelRequest, "options" | "maxOutputTokens" | "item">;

export type DirectAnswer =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly bytes: Uint8Array }
  | { readonly kind: "failed"; readonly message: string };

const CANCEL_MS = 10_000;
/** Paid work continues whether or not anybody waits. */
const NEVER = new AbortController().signal;

/** Retries temporary failures, and asks once more if JSON does not match the schema. Does not generate videos. */
export async function callDirectly(
  adapter: ModelAdapter,
  entry: CatalogueEntry,
  request: DirectRequest,
  signal: AbortSignal,
): Promise<DirectAnswer> {
  if (entry.modality === "video") return { kind: "failed", message: "Tests do not generate videos." };
  let call = callOf(entry, request);
  let problem = "";
  let hasRetriedOnce = false;
  for (let callNumber = 1; callNumber <= ATTEMPTS_MAX; callNumber += 1) {
    const numbered = { ...call, callNumber };
    const result = await withinTime(call.timeLimitMs, signal, (own) => makeOnce(adapter, numbered, own));
    if (result.kind === "refused") return { kind: "failed", message: DECLINED };
    if (result.kind === "video") return { kind: "failed", message: "Tests do not generate videos." };
    if (result.kind === "image") return { kind: "image", bytes: result.bytes };
    if (result.kind === "text") {
      const read = request.outputSchema === undefined ? null : readJsonAnswer(request.outputSchema, result.text);
      if (read === null) return { kind: "text", text: result.text };
      if (read.kind === "fits") return { kind: "text", text: read.text };
      problem = read.problem;
      if (call.correction !== undefined) break;
      call = { ...call, correction: { answer: result.text, problem } };
      continue;
    }
    const made = { failure: result, callNumber };
    if (isFinal(made, hasRetriedOnce)) return { kind: "failed", message: result.sentence ?? sentenceFor(result.cause) };
    hasRetriedOnce ||= result.retry === "once";
    await sleep(backoffMs(made, systemRandom), signal);
  }
  return { kind: "failed", message: `The answer is not JSON that matches the schema: ${problem}` };
}

function callOf(entry: CatalogueEntry, request: DirectRequest): ModelCall {
  const { options, maxOutputTokens, item, ...rest } = request;
  const mapping = resolveMapping(entry, options);
  return {
    ...rest,
    entry,
    mapping,
    authorsText: null,
    maxOutputTokens: outputTokensMax(entry, mapping, maxOutputTokens),
    itemIndex: item,
    callNumber: 1,
    idempotencyKey: crypto.randomUUID(),
    timeLimitMs: entry.limits.timeoutMs,
    key: 0,
    onText: null,
  };
}

/** No other process could continue or stop a job that this one abandons, so it is canceled here. */
async function makeOnce(adapter: ModelAdapter, call: ModelCall, signal: AbortSignal): Promise<ModelResult> {
  const { entry } = call;
  if (!makesJobs(providerOf(entry.provider), entry.modality)) return adapter.callModel(call, signal);
  const started: { operation: JsonValue } = { operation: null };
  const store = async (operation: JsonValue) => void (started.operation = operation);
  try {
    return await runJob({ adapter, wait: sleep }, { call, operation: null, store }, signal);
  } catch (error) {
    const { operation } = started;
    if (operation !== null) await withinTime(CANCEL_MS, NEVER, (own) => adapter.cancelJob({ entry, operation }, own));
    throw error;
  }
}

/** An operator is waiting for it. */
const TEST_MS_MAX = 60_000;
const TEXT_SHOWN_MAX = 500;
const PROMPTS = { text: "Answer with the one word: ready", image: "A plain blue circle on white" } as const;
const NOTHING_ELSE = { options: {}, instructions: "", images: [], maxOutputTokens: null, item: 0 } as const;

/**
 * Makes one small call without retries, for an operator who wants to know whether a model answers.
 * @param entry of a text or image model: a video would cost too much.
 */
export function createTestCall(adapter: ModelAdapter): (entry: CatalogueEntry) => Promise<ModelTest> {
  return async (entry) => {
    const prompt = entry.modality === "image" ? PROMPTS.image : PROMPTS.text;
    const timeLimitMs = Math.min(entry.limits.timeoutMs, TEST_MS_MAX);
    const call = { ...callOf(entry, { ...NOTHING_ELSE, prompt }), timeLimitMs };
    const startMs = performance.now();
    const result = await withinTime(timeLimitMs, NEVER, (signal) => makeOnce(adapter, call, signal));
    const tookMs = Math.round(performance.now() - startMs);
    const costCredits = result.usage === null ? 0 : costMicro(entry, call.mapping, result.usage) / 1_000_000;
    return { model: entry.model, tookMs, costCredits, ...describe(result) };
  };
}

function describe(result: ModelResult): Omit<ModelTest, "model" | "tookMs" | "costCredits"> {
  const well = { isAnswered: true, text: null, pictureBytes: null, cause: null, httpStatus: null, providerCode: null };
  if (result.kind === "text") return { ...well, text: result.text.slice(0, TEXT_SHOWN_MAX).toWellFormed() };
  if (result.kind === "image") return { ...well, pictureBytes: result.bytes.byteLength };
  if (result.kind === "failed") {
    const { cause, httpStatus, code: providerCode } = result;
    return { ...well, isAnswered: false, cause, httpStatus, providerCode };
  }
  return { ...well, isAnswered: false, cause: "refused" };
}
