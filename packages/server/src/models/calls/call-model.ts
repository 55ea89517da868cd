/**
 * Makes a model call, from its first attempt to what the caller reads; attempt-limits.ts decides how many attempts there
 * are, and of which model. No SDK here. Each provider call is counted in the database before it is made (attempt.ts), so
 * retries and crashes together never exceed the limit. A started video is found again and polled, not paid for twice.
 */
import { systemRandom, type Random } from "../../platform/resilience/retry.ts";
import { sleep } from "../../platform/resilience/deadline.ts";
import type { CallContext } from "./call-context.ts";
import { availability, unavailableSentence } from "../catalogue/availability.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import { meetsNeeds } from "../catalogue/roles.ts";
import { ATTEMPTS_USED_UP, cleanText, DECLINED, NOT_JSON, sentenceFor } from "./caller-text.ts";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import { readJsonAnswer } from "./output-schema.ts";
import { embeddingsModel } from "../catalogue/embeddings-model.ts";
import type { Correction } from "../ai-sdk/model-adapter.ts";
import { createCallAdmission, WAIT_IN_PROCESS_MS, type CallAdmissionOptions } from "./call-admission.ts";
import { backoffMs, callsFallback, isFinal, isOfKey } from "./attempt-limits.ts";
import { createCallCount, createCallRecord } from "./provider-calls.ts";
import { attempt, withdraw, type Attempt, type Job } from "./attempt.ts";
import { NO_USAGE } from "../pricing/usage.ts";
import type { CallFailure, Usage } from "../providers/failure.ts";
import type { FailedOutcome, ModelCaller, ModelOutcome, ModelRequest } from "./model-request.ts";

export interface ModelCallerOptions extends Pick<CallContext, "catalogue" | "db" | "log" | "adapter"> {
  /** PROMPTD_INFLIGHT_BYTES. */
  readonly inflightBytesMax: number;
  readonly adaptRuns: CallAdmissionOptions["adaptRuns"];
  readonly random?: Random;
  readonly wait?: CallContext["wait"];
}

/**
 * The share of memory for input images, held from before a run loads them until its calls end. The rest is for what each
 * call adds. With two budgets, runs that hold images in memory can never block each other from sending them.
 */
const IMAGES_SHARE = 1 / 3;

export function createModelCaller(options: ModelCallerOptions): ModelCaller {
  const { catalogue, db, log, adapter } = options;
  const context: CallContext = {
    db,
    log,
    adapter,
    catalogue,
    wait: options.wait ?? sleep,
    random: options.random ?? systemRandom,
    admission: createCallAdmission({
      memory: createSemaphore({
        permits: options.inflightBytesMax * (1 - IMAGES_SHARE),
        timeoutMs: WAIT_IN_PROCESS_MS,
      }),
      monotonicMs: () => performance.now(),
      log,
      adaptRuns: options.adaptRuns,
      countKeys: adapter.countKeys,
    }),
    count: createCallCount(db),
    record: createCallRecord(db, log),
  };
  const imageBytes = options.inflightBytesMax * IMAGES_SHARE;
  const images = createSemaphore({
    permits: imageBytes,
    keyShareMax: imageBytes / 4,
    leavesFree: true,
    timeoutMs: WAIT_IN_PROCESS_MS,
  });
  return {
    call: (request, signal) => callModel(context, request, signal),
    withdraw: async ({ unmade }) => {
      if (unmade !== null) await withdraw(context, unmade);
    },
    reserveImages: ({ bytes, accountId }, signal) => images.acquireInTime({ weight: bytes, key: accountId, signal }),
    embedTexts: async (model, texts, signal) => adapter.embedTexts(embeddingsModel(catalogue, model), texts, signal),
    close: async () => {
      await context.record.flush();
      await adapter.close();
    },
  };
}

async function callModel(context: CallContext, request: ModelRequest, signal: AbortSignal): Promise<ModelOutcome> {
  const own = availability(context.catalogue, request.model);
  const named = (request.fallback ?? []).map((model) => availability(context.catalogue, model));
  const [first, ...others] = [own, ...named].flatMap((found) => (found.kind === "available" ? [found.entry] : []));
  if (first === undefined)
    return own.kind === "available"
      ? failed("attempts_used_up", ATTEMPTS_USED_UP)
      : failed("model_unusable", unavailableSentence(request.model, own));
  const elsewhere = operatorsFallback(context, first, request);
  const next = others.length === 0 && elsewhere !== null ? [elsewhere] : others;
  return attemptUntilSettled(context, request, [first, ...next], signal);
}

/** @param models to call, one after another. */
async function attemptUntilSettled(
  context: CallContext,
  request: ModelRequest,
  [first, ...left]: [CatalogueEntry, ...CatalogueEntry[]],
  signal: AbortSignal,
): Promise<ModelOutcome> {
  let job: Job = { request, entry: first };
  let hasRetriedOnce = false;
  for (;;) {
    signal.throwIfAborted();
    const made = await attempt(context, job, signal);
    if (made.kind === "answered") {
      const answer = readAnswer(job, made);
      if (answer.kind === "usable") return answer.outcome;
      if (job.correction !== undefined) return failed("not_json", NOT_JSON);
      job = { ...job, correction: answer.correction };
      continue;
    }
    if (made.kind === "failed" && isOfKey(made) && context.admission.hasFreeKey(job.entry)) continue;
    const [next] = left;
    if (next !== undefined && goesElsewhere(made, job)) {
      logFallback(context, job, next);
      job = { ...job, entry: next };
      left.shift();
      continue;
    }
    if (made.kind === "used-up")
      return job.correction === undefined ? failed("attempts_used_up", ATTEMPTS_USED_UP) : failed("not_json", NOT_JSON);
    if (made.kind === "failed") {
      if (isFinal(made, hasRetriedOnce)) return failedAs(made.failure);
      hasRetriedOnce ||= made.failure.retry === "once";
    }
    const end = await waitForNextAttempt(context, request, made, signal);
    if (end !== null) return end;
  }
}

/** The same model at another provider, if the operator declared one and the author named no fallback; never for videos. */
function operatorsFallback(
  context: CallContext,
  entry: CatalogueEntry,
  { webSearch, outputSchema }: ModelRequest,
): CatalogueEntry | null {
  if (entry.fallback === undefined || entry.modality === "video" || !context.catalogue.isEnabled(entry.fallback))
    return null;
  const other = context.catalogue.find(entry.fallback);
  const needs = { images: 0, searchesWeb: webSearch !== undefined, hasSchema: outputSchema !== undefined };
  return other !== null && meetsNeeds(other, needs) ? other : null;
}

/** True: call the next model now. If another model may answer, nobody waits for one whose breaker is open. */
function goesElsewhere(made: Attempt, { entry }: Job): boolean {
  return made.kind === "busy" ? made.isBroken : made.kind === "failed" && callsFallback(made, entry.modality);
}

function logFallback({ log }: CallContext, { request, entry }: Job, fallback: CatalogueEntry): void {
  log.warn({ runId: request.runId, model: entry.model, fallback: fallback.model }, "calling a fallback model");
}

/**
 * Waits here if the wait is short, or returns the run if it is long. No wait extends past the run's deadline.
 * @returns null when the wait is over, otherwise how the call ends.
 */
async function waitForNextAttempt(
  context: CallContext,
  request: ModelRequest,
  made: Extract<Attempt, { kind: "failed" | "busy" }>,
  signal: AbortSignal,
): Promise<ModelOutcome | null> {
  const delayMs = made.kind === "busy" ? made.waitMs : backoffMs(made, context.random);
  if (performance.now() + delayMs >= request.deadlineMs) {
    return made.kind === "busy" ? failed("overloaded", sentenceFor("overloaded")) : failedAs(made.failure);
  }
  if (delayMs < WAIT_IN_PROCESS_MS) {
    await context.wait(delayMs, signal);
    return null;
  }
  await context.record.flush(); // the next attempt must see how this one ended
  return { kind: "later", delayMs: Math.ceil(delayMs) };
}

type Answered = Extract<Attempt, { kind: "answered" }>;

type ReadAnswer =
  | { readonly kind: "usable"; readonly outcome: ModelOutcome }
  /** Not JSON, or JSON that does not match the schema: ask once more. */
  | { readonly kind: "unfit"; readonly correction: Correction };

function readAnswer({ request }: Job, { model, result }: Answered): ReadAnswer {
  if (result.kind === "refused") return { kind: "usable", outcome: failed("refused", DECLINED, result.usage) };
  if (result.kind !== "text") return { kind: "usable", outcome: { ...result, model } };
  const answer = { ...result, model };
  if (request.outputSchema === undefined) return usableText(answer, result.text);
  const read = readJsonAnswer(request.outputSchema, result.text);
  return read.kind === "fits"
    ? usableText(answer, read.text)
    : { kind: "unfit", correction: { answer: result.text, problem: read.problem } };
}

type TextAnswer = Extract<Answered["result"], { kind: "text" }> & Pick<Answered, "model">;

function usableText(answer: TextAnswer, written: string): ReadAnswer {
  const { text, isCut } = cleanText(written);
  return { kind: "usable", outcome: { ...answer, text, truncated: answer.truncated || isCut } };
}

function failed(cause: FailedOutcome["cause"], message: string, usage: Usage | null = null): FailedOutcome {
  return { kind: "failed", cause, message, usage: usage ?? NO_USAGE };
}

function failedAs({ cause, sentence, usage }: CallFailure): FailedOutcome {
  return failed(cause, sentence ?? sentenceFor(cause), usage);
}
