/**
 * Policy of model calls: how often something is sent, where, how long is waited in between, and what the caller is
 * told. No SDK here. A send is counted in the database before it is made (attempt-once.ts), so that retries and crashes
 * together never exceed three sends per output item; a started video is found again and asked for instead of being
 * paid twice.
 */
import { fullJitterDelayMs, systemRandom, type Random } from "../../platform/resilience/retry.ts";
import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import { createByteBudget } from "../limits/byte-budget.ts";
import type { CallContext } from "./call-context.ts";
import { availability, unavailableSentence } from "../catalogue/availability.ts";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.ts";
import { cleanText } from "./clean-text.ts";
import { embeddingsModel } from "../catalogue/embeddings-model.ts";
import type { ModelAdapter } from "../ai-sdk/model-adapter.ts";
import { createModelGate, WAIT_IN_PROCESS_MS } from "../limits/model-gate.ts";
import { SENDS_MAX } from "./provider-calls-store.ts";
import { createSendCounter } from "./attempt-counter.ts";
import { sendOnce, type Job, type Sent } from "./attempt-once.ts";
import { createSendRecord } from "./attempt-record.ts";
import { DECLINED, sentenceFor, SENDS_USED_UP } from "./sentences.ts";
import { NO_USAGE } from "../pricing/usage.ts";
import { waitOrAbort, type Wait } from "./waiting.ts";
import type { CallFailure, FailureCause } from "../providers/failure.ts";
import type { ModelCaller, ModelOutcome, ModelRequest } from "./model-request.ts";

export interface ModelCallerOptions {
  readonly catalogue: Catalogue;
  readonly db: Database;
  readonly log: Log;
  /** PROMPTD_INFLIGHT_BYTES. */
  readonly inflightBytesMax: number;
  readonly adapter: ModelAdapter;
  readonly random?: Random;
  readonly wait?: Wait;
}

/**
 * Of the byte budget, for images that runs hold from before they are loaded until their calls have ended; the rest is
 * for what a call adds. Apart, so that runs that hold images can never keep each other from sending them.
 */
const IMAGES_SHARE = 1 / 3;
const BACKOFF = { baseMs: 1_000, capMs: 30_000 };

export function createModelCaller(options: ModelCallerOptions): ModelCaller {
  const { catalogue, db, log, adapter } = options;
  const context: CallContext = {
    db,
    log,
    adapter,
    catalogue,
    wait: options.wait ?? waitOrAbort,
    random: options.random ?? systemRandom,
    gate: createModelGate(
      createByteBudget(options.inflightBytesMax * (1 - IMAGES_SHARE)),
      () => performance.now(),
      log,
    ),
    counter: createSendCounter(db),
    record: createSendRecord(db, log),
  };
  const images = createByteBudget(options.inflightBytesMax * IMAGES_SHARE);
  return {
    call: (request, signal) => callModel(context, request, signal),
    holdImages: (bytes, signal) => images.reserve(bytes, WAIT_IN_PROCESS_MS, signal),
    embedTexts: async (model, texts, signal) => adapter.embedTexts(embeddingsModel(catalogue, model), texts, signal),
    close: async () => {
      await context.record.close();
      await adapter.close();
    },
  };
}

async function callModel(context: CallContext, request: ModelRequest, signal: AbortSignal): Promise<ModelOutcome> {
  const found = availability(context.catalogue, request.model);
  if (found.kind !== "available") return failed(unavailableSentence(request.model, found));
  return sendUntilSettled(context, { request, entry: found.entry }, signal);
}

async function sendUntilSettled(context: CallContext, wanted: Job, signal: AbortSignal): Promise<ModelOutcome> {
  const fallback = fallbackOf(context, wanted.entry);
  let job = wanted;
  let hasRetriedOnce = false;
  for (;;) {
    signal.throwIfAborted();
    const sent = await sendOnce(context, job, signal);
    if (sent.kind === "answered") return outcomeOf(sent);
    if (fallback !== null && job === wanted && givesWay(sent)) {
      logFallback(context, wanted, fallback);
      job = { ...wanted, entry: fallback };
      continue;
    }
    if (sent.kind === "used-up") return failed(SENDS_USED_UP);
    if (sent.kind === "failed") {
      if (isFinal(sent, hasRetriedOnce)) return failedAs(sent.failure);
      hasRetriedOnce ||= sent.failure.retry === "once";
    }
    const end = await waitForNextSend(context, { request: wanted.request, sent }, signal);
    if (end !== null) return end;
  }
}

type Failed = Extract<Sent, { kind: "failed" }>;
type Busy = Extract<Sent, { kind: "busy" }>;

/** The same model elsewhere, where the operator declared one: never for videos, whose started job belongs to one place. */
function fallbackOf(context: CallContext, entry: CatalogueEntry): CatalogueEntry | null {
  if (entry.fallback === undefined || entry.modality === "video" || !context.catalogue.isEnabled(entry.fallback))
    return null;
  return context.catalogue.find(entry.fallback);
}

const ELSEWHERE_MAY_DO: ReadonlySet<FailureCause> = new Set(["overloaded", "network", "rate_limited"]);

/** The last of the three sends is kept for the fallback; a model that is left in peace gives way at once. */
function givesWay(sent: Sent): boolean {
  if (sent.kind === "busy") return sent.isBroken;
  if (sent.kind !== "failed" || sent.send >= SENDS_MAX) return false;
  const { breaker, cause } = sent.failure;
  return breaker === "opens" || (sent.send === SENDS_MAX - 1 && ELSEWHERE_MAY_DO.has(cause));
}

function logFallback({ log }: CallContext, { request, entry }: Job, fallback: CatalogueEntry): void {
  log.warn({ runId: request.runId, model: entry.model, fallback: fallback.model }, "a fallback model is called");
}

function isFinal({ failure, send }: Failed, hasRetriedOnce: boolean): boolean {
  return failure.retry === "never" || send >= SENDS_MAX || (failure.retry === "once" && hasRetriedOnce);
}

/**
 * Short waits are spent here, long ones give the run back, and none goes past the run's deadline.
 * @returns null when the wait is over, else how the call ends.
 */
async function waitForNextSend(
  context: CallContext,
  { request, sent }: { readonly request: ModelRequest; readonly sent: Failed | Busy },
  signal: AbortSignal,
): Promise<ModelOutcome | null> {
  const delayMs = sent.kind === "busy" ? sent.waitMs : backoffMs(context, sent);
  if (performance.now() + delayMs >= request.deadlineMs) {
    return sent.kind === "busy" ? failed(sentenceFor("overloaded")) : failedAs(sent.failure);
  }
  if (delayMs < WAIT_IN_PROCESS_MS) {
    await context.wait(delayMs, signal);
    return null;
  }
  await context.record.flush(); // whoever goes on must see how this send ended
  return { kind: "later", delayMs: Math.ceil(delayMs) };
}

function backoffMs({ random }: CallContext, { failure, send }: Failed): number {
  return Math.max(failure.retryAfterMs ?? 0, fullJitterDelayMs(send, BACKOFF, random));
}

function outcomeOf({ result }: Extract<Sent, { kind: "answered" }>): ModelOutcome {
  if (result.kind === "refused") return { kind: "failed", message: DECLINED, usage: result.usage ?? NO_USAGE };
  if (result.kind !== "text") return result;
  const { text, isCut } = cleanText(result.text);
  return { kind: "text", text, truncated: result.truncated || isCut, usage: result.usage };
}

function failed(message: string): ModelOutcome {
  return { kind: "failed", message, usage: NO_USAGE };
}

function failedAs(failure: CallFailure): ModelOutcome {
  return { kind: "failed", message: failure.sentence ?? sentenceFor(failure.cause), usage: failure.usage ?? NO_USAGE };
}
