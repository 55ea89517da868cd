/** Calls of a model for an author who tries a prompt: no run, no database, nothing charged. */
import { fullJitterDelayMs, systemRandom } from "../../platform/resilience/retry.ts";
import { sleep } from "../../platform/resilience/deadline.ts";
import type { ModelAdapter, ModelCall, ModelResult } from "../ai-sdk/model-adapter.ts";
import { resolveMapping, type CatalogueEntry } from "../catalogue/catalogue.ts";
import { outputTokensMax } from "../pricing/output-limit.ts";
import { makesJobs } from "../providers/provider.ts";
import { providerOf } from "../providers/index.ts";
import { DECLINED, sentenceFor } from "./caller-text.ts";
import type { ModelRequest } from "./model-request.ts";
import { readJsonAnswer } from "./output-schema.ts";
import { runJob } from "./provider-jobs.ts";

export type DirectRequest = Pick<
  ModelRequest,
  | "options"
  | "instructions"
  | "prompt"
  | "images"
  | "settings"
  | "messages"
  | "outputSchema"
  | "webSearch"
  | "maxOutputTokens"
  | "item"
>;

export type DirectAnswer =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly bytes: Uint8Array }
  | { readonly kind: "failed"; readonly message: string };

const CALLS_MAX = 3;
const BACKOFF = { baseMs: 1_000, capMs: 10_000 };

/** Retries what may pass, and asks once more for JSON that does not fit. Videos are not made here. */
export async function callDirectly(
  adapter: ModelAdapter,
  entry: CatalogueEntry,
  request: DirectRequest,
  signal: AbortSignal,
): Promise<DirectAnswer> {
  if (entry.modality === "video") return { kind: "failed", message: "Videos are not made in a test." };
  const mapping = resolveMapping(entry, request.options);
  const { maxOutputTokens, item, ...rest } = request;
  let call: ModelCall = {
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
  let problem = "";
  let hasRetriedOnce = false;
  for (let callNumber = 1; callNumber <= CALLS_MAX; callNumber += 1) {
    const result = await make(adapter, { ...call, callNumber }, signal);
    if (result.kind === "refused") return { kind: "failed", message: DECLINED };
    if (result.kind === "video") return { kind: "failed", message: "Videos are not made in a test." };
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
    if (result.retry === "never" || callNumber === CALLS_MAX || (result.retry === "once" && hasRetriedOnce))
      return { kind: "failed", message: result.sentence ?? sentenceFor(result.cause) };
    hasRetriedOnce ||= result.retry === "once";
    await sleep(Math.max(result.retryAfterMs ?? 0, fullJitterDelayMs(callNumber, BACKOFF, systemRandom)), signal);
  }
  return { kind: "failed", message: `The answer is not JSON that fits: ${problem}` };
}

function make(adapter: ModelAdapter, call: ModelCall, signal: AbortSignal): Promise<ModelResult> {
  const { provider, modality, limits } = call.entry;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(limits.timeoutMs)]);
  if (!makesJobs(providerOf(provider), modality)) return adapter.callModel(call, limited);
  const store = async (): Promise<void> => {}; // there is no other process that could go on with it
  return runJob({ adapter, wait: sleep }, { call, operation: null, store }, limited);
}
