/**
 * Policy of model calls: what is sent, how often, how long it may take, and what the caller is told. No SDK here.
 * A send is counted in the database before it is made, so that retries and crashes together never exceed three sends
 * per output item; a started video is found again and asked for instead of being paid twice.
 */
import { fullJitterDelayMs, systemRandom, type Random } from "../platform/backoff.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import { fault } from "../platform/fault.ts";
import type { Log } from "../platform/log.ts";
import { createByteBudget } from "./byte-budget.ts";
import { resolveMapping, type Catalogue, type CatalogueEntry } from "./catalogue.ts";
import { cleanText } from "./clean-text.ts";
import type {
  CallFailure,
  EmbeddingsModel,
  ModelAdapter,
  ModelCall,
  ModelCaller,
  ModelOutcome,
  ModelRequest,
  ModelResult,
} from "./model-call.ts";
import { createModelGate, WAIT_IN_PROCESS_MS, type Entry, type ModelGate } from "./model-gate.ts";
import { ratesOf } from "./price-plan.ts";
import { SENDS_MAX, type SendKey, type SendStart } from "./provider-calls-store.ts";
import { failure } from "./provider-failure.ts";
import { createSendCounter, type SendCounter } from "./send-counter.ts";
import { createSendRecord, type SendRecord } from "./send-record.ts";
import { DECLINED, notConfigured, retired, sentenceFor, SENDS_USED_UP } from "./sentences.ts";
import { callBytes, NO_USAGE } from "./usage.ts";
import { runVideo } from "./video-call.ts";
import { startDeadline, waitOrAbort, type Wait } from "./waiting.ts";
import { costMicro } from "./cost.ts";

export interface ModelCallerOptions {
  readonly catalogue: Catalogue;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** PROMPTD_INFLIGHT_BYTES. */
  readonly inflightBytesMax: number;
  readonly adapter: ModelAdapter;
  readonly random?: Random;
  readonly wait?: Wait;
}

/** What every part of a call needs. */
export interface CallContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly adapter: ModelAdapter;
  readonly wait: Wait;
  readonly random: Random;
  readonly catalogue: Catalogue;
  readonly gate: ModelGate;
  readonly counter: SendCounter;
  readonly record: SendRecord;
}

/**
 * Of the byte budget, for images that runs hold from before they are loaded until their calls have ended; the rest is
 * for what a call adds. Apart, so that runs that hold images can never keep each other from sending them.
 */
const IMAGES_SHARE = 1 / 3;
const BACKOFF = { baseMs: 1_000, capMs: 30_000 };

export function createModelCaller(options: ModelCallerOptions): ModelCaller {
  const { catalogue, db, clock, log, adapter } = options;
  const context: CallContext = {
    db,
    clock,
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

const EMBEDDING_PROVIDERS: readonly string[] = ["openai", "google"];

function embeddingsModel(catalogue: Catalogue, model: string): EmbeddingsModel {
  const [provider = "", ...rest] = model.split("/");
  const server = catalogue.entries.find((entry) => entry.provider === provider)?.server ?? null;
  if (rest.length === 0 || (server === null && !EMBEDDING_PROVIDERS.includes(provider))) {
    throw new Error(`${model} is no embeddings model: expected openai/…, google/… or a provider of the models file.`);
  }
  return { provider, providerModel: rest.join("/"), server };
}

async function callModel(context: CallContext, request: ModelRequest, signal: AbortSignal): Promise<ModelOutcome> {
  const entry = context.catalogue.find(request.model);
  if (entry?.status === "retired") return failed(retired(request.model, entry.successor ?? null));
  if (entry === null || !context.catalogue.isEnabled(request.model)) return failed(notConfigured(request.model));
  const other = fallbackOf(context, entry);
  let job: Job = { request, entry };
  let hasRetriedOnce = false;
  for (;;) {
    signal.throwIfAborted();
    const sent = await sendOnce(context, job, signal);
    if (other !== null && job.entry === entry && givesWay(sent)) {
      context.log.warn(
        { runId: request.runId, model: entry.model, fallback: other.model },
        "a fallback model is called",
      );
      job = { request, entry: other };
      continue;
    }
    if (sent.kind === "used-up") return failed(SENDS_USED_UP);
    if (sent.kind === "sent" && sent.result.kind !== "failed") return succeeded(sent.result);
    const broken = sent.kind === "sent" && sent.result.kind === "failed" ? { ...sent, result: sent.result } : null;
    if (broken !== null && isFinal(broken, hasRetriedOnce)) return failedAs(broken.result);
    hasRetriedOnce ||= broken?.result.retry === "once";
    const delayMs = sent.kind === "busy" ? sent.waitMs : backoffMs(context, broken);
    const waited = await waitOrGiveBack(context, { request, delayMs }, signal);
    if (waited !== "waited")
      return waited ?? (broken === null ? failed(sentenceFor("overloaded")) : failedAs(broken.result));
  }
}

interface FailedSend {
  readonly result: CallFailure;
  readonly key: SendKey;
}

function isFinal({ result, key }: FailedSend, hasRetriedOnce: boolean): boolean {
  return result.retry === "never" || key.send >= SENDS_MAX || (result.retry === "once" && hasRetriedOnce);
}

function backoffMs(context: CallContext, broken: FailedSend | null): number {
  if (broken === null) return 0;
  return Math.max(broken.result.retryAfterMs ?? 0, fullJitterDelayMs(broken.key.send, BACKOFF, context.random));
}

/** The same model elsewhere, where the operator declared one: never for videos, whose started job belongs to one place. */
function fallbackOf(context: CallContext, entry: CatalogueEntry): CatalogueEntry | null {
  if (entry.fallback === undefined || entry.modality === "video" || !context.catalogue.isEnabled(entry.fallback))
    return null;
  return context.catalogue.find(entry.fallback);
}

/** The last of the three sends is kept for the fallback; a model that is left in peace gives way at once. */
function givesWay(sent: Sent): boolean {
  if (sent.kind === "busy") return sent.isBroken;
  if (sent.kind !== "sent" || sent.result.kind !== "failed" || sent.key.send >= SENDS_MAX) return false;
  const { breaker, cause } = sent.result;
  if (breaker === "opens") return true;
  return sent.key.send === SENDS_MAX - 1 && (cause === "overloaded" || cause === "network" || cause === "rate_limited");
}

/** Short waits are spent here, long ones give the run back. Null: the run's deadline is nearer than the end of the wait. */
async function waitOrGiveBack(
  context: CallContext,
  { request, delayMs }: { request: ModelRequest; delayMs: number },
  signal: AbortSignal,
): Promise<"waited" | Extract<ModelOutcome, { kind: "later" }> | null> {
  if (context.clock.nowMs() + delayMs >= request.deadlineAtMs) return null;
  if (delayMs < WAIT_IN_PROCESS_MS) {
    await context.wait(delayMs, signal);
    return "waited";
  }
  await context.record.flush(); // whoever goes on must see how this send ended
  return { kind: "later", delayMs: Math.ceil(delayMs) };
}

interface Job {
  readonly request: ModelRequest;
  readonly entry: CatalogueEntry;
}

type Sent =
  | { readonly kind: "sent"; readonly result: ModelResult; readonly key: SendKey }
  | Extract<Entry, { kind: "busy" }>
  | { readonly kind: "used-up" };

async function sendOnce(context: CallContext, job: Job, signal: AbortSignal): Promise<Sent> {
  const { request, entry } = job;
  const entrance = await context.gate.enter(entry, callBytes(request), signal);
  if (entrance.kind === "busy") return entrance;
  let leaveAs: ModelResult | "aborted" | "not-sent" = "not-sent";
  try {
    const start = await context.counter.begin({ request, entry });
    if (start.kind === "used-up") return start;
    await fault("call.before_send");
    leaveAs = "aborted";
    const result = await execute(context, { job, start }, signal);
    leaveAs = result;
    await fault("call.after_answer");
    record(context, job, { key: start.key, result });
    return { kind: "sent", result, key: start.key };
  } finally {
    entrance.leave(leaveAs);
  }
}

type Started = Exclude<SendStart, { kind: "used-up" }>;

/** One send under its deadline. Rejects when aborted; every failure of the provider is a value. */
async function execute(
  context: CallContext,
  { job, start }: { job: Job; start: Started },
  signal: AbortSignal,
): Promise<ModelResult> {
  const { request, entry } = job;
  const leftMs = request.deadlineAtMs - context.clock.nowMs();
  const timedOut = failure("timeout", { retry: "never", breaker: "counted" });
  if (leftMs <= 0) return { ...timedOut, breaker: "ignored" };
  const deadline = startDeadline(Math.min(entry.limits.timeoutMs, leftMs), signal);
  try {
    const call = modelCall(job, start.key);
    const result =
      entry.modality === "video"
        ? await runVideo(context, { request, call, start }, deadline.signal)
        : await context.adapter.callModel(call, deadline.signal);
    if (signal.aborted && result.kind === "video" && "discard" in result.content) await result.content.discard();
    signal.throwIfAborted();
    return deadline.hasPassed() && result.kind === "failed" ? timedOut : result;
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.hasPassed()) return timedOut;
    throw error;
  } finally {
    deadline.stop();
  }
}

function modelCall({ request, entry }: Job, key: SendKey): ModelCall {
  return {
    entry,
    mapping: resolveMapping(entry, request.options),
    instructions: request.instructions,
    prompt: request.prompt,
    images: request.images,
    maxOutputTokens: request.maxOutputTokens ?? entry.limits.maxOutputTokens,
    itemIndex: request.item,
    sendNumber: key.send,
    idempotencyKey: `${request.runId}:${request.step}:${request.item}`,
  };
}

function record(
  context: CallContext,
  { request, entry }: Job,
  { key, result }: { key: SendKey; result: ModelResult },
): void {
  const usage = result.usage;
  const rates = ratesOf({ ...entry, priceFactor: "1" }, resolveMapping(entry, request.options));
  const isFailed = result.kind === "failed";
  context.record.add({
    key,
    outcome: isFailed ? result.cause : result.kind,
    httpStatus: isFailed ? result.httpStatus : null,
    code: isFailed ? result.code : null,
    requestId: "requestId" in result ? result.requestId : null,
    usage,
    costMicro: usage === null ? null : costMicro(rates, usage),
  });
  if (isFailed) logFailure(context, { request, entry }, result);
}

function logFailure(context: CallContext, { request, entry }: Job, result: CallFailure): void {
  const { cause, httpStatus, code } = result;
  const facts = {
    runId: request.runId,
    step: request.step,
    model: entry.model,
    provider: entry.provider,
    cause,
    httpStatus,
    code,
  };
  if (result.breaker === "opens")
    context.log.error(facts, "the provider refuses this installation: check its key and its account");
  else context.log.warn(facts, "a model call failed");
}

function succeeded(result: Exclude<ModelResult, { kind: "failed" }>): ModelOutcome {
  if (result.kind === "refused") return { kind: "failed", message: DECLINED, usage: result.usage ?? NO_USAGE };
  if (result.kind !== "text") return result;
  const { text, isCut } = cleanText(result.text);
  return { kind: "text", text, truncated: result.truncated || isCut, usage: result.usage };
}

function failed(message: string): ModelOutcome {
  return { kind: "failed", message, usage: NO_USAGE };
}

function failedAs(result: CallFailure): ModelOutcome {
  return { kind: "failed", message: result.sentence ?? sentenceFor(result.cause), usage: result.usage ?? NO_USAGE };
}
