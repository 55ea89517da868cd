/**
 * One attempt: a provider call that is admitted, counted in the database, made under its deadline, and recorded. Whatever
 * the provider does is returned as a value; only an abort, a bug, or a database outage rejects.
 */
import { faultPoint } from "../../platform/fault-injection.ts";
import { createHistogram } from "../../platform/metrics/metrics.ts";
import type { CallContext } from "./call-context.ts";
import { resolveMapping, type CatalogueEntry } from "../catalogue/catalogue.ts";
import type { Mapping } from "../catalogue/option-mapping.ts";
import type { Correction, ModelCall, ModelResult } from "../ai-sdk/model-adapter.ts";
import type { CallPermit } from "./call-admission.ts";
import { outputTokensMax } from "../pricing/output-limit.ts";
import { storeOperation, withdrawCall, type CallKey, type CallStart } from "./provider-calls-store.ts";
import type { CallFailure } from "../providers/failure.ts";
import { callBytes, costMicro } from "../pricing/usage.ts";
import { makesJobs } from "../providers/provider.ts";
import { providerOf } from "../providers/all-providers.ts";
import type { JsonValue } from "../../platform/json.ts";
import { runJob } from "./provider-jobs.ts";
import { TIMED_OUT, withinTime } from "./time-limit.ts";
import type { ModelRequest } from "./model-request.ts";

const calls = createHistogram(
  {
    name: "promptd_provider_call_duration_seconds",
    help: "Model calls of this process, by provider and by outcome: the kind of the result, or the cause of the failure.",
    buckets: [0.25, 1, 2.5, 10, 30, 120, 600],
  },
  ["provider", "outcome"],
);

/** A request, and the model that serves it: the requested model or its fallback. */
export interface Job {
  readonly request: ModelRequest;
  readonly entry: CatalogueEntry;
  /** The answer that the model is asked to correct. */
  readonly correction?: Correction;
}

export type Attempt =
  | { readonly kind: "answered"; readonly model: string; readonly result: Exclude<ModelResult, CallFailure> }
  /** `callNumber`: the number of the call within its item, from 1. */
  | { readonly kind: "failed"; readonly failure: CallFailure; readonly callNumber: number }
  /** No call was made: the model is at capacity, or its breaker is open. */
  | Extract<CallPermit, { kind: "busy" }>
  /** No call was made: earlier calls, perhaps by workers that crashed, used up the limit. */
  | { readonly kind: "used-up" };

export async function attempt(context: CallContext, job: Job, signal: AbortSignal): Promise<Attempt> {
  const admission = await context.admission.admit(job.entry, callBytes(job.request), signal);
  if (admission.kind === "busy") return admission;
  let ending: ModelResult | "aborted" | "not-made" = "not-made";
  try {
    const start = job.request.counted?.take(job.entry) ?? (await context.count(job));
    if (start.kind === "used-up") return start;
    await faultPoint("call.before_send");
    if (signal.aborted && start.kind === "begun") await withdraw(context, start.key);
    signal.throwIfAborted();
    ending = "aborted";
    const sentJob = start.kind === "started" ? startedBefore(context, job, start) : job;
    const sentMs = performance.now();
    const mapping = resolveMapping(sentJob.entry, sentJob.request.options);
    const result = await makeInTime(context, { job: sentJob, mapping, start, key: admission.key }, signal);
    // A resumed job says nothing about the key and the model admitted now.
    if (start.kind !== "started") ending = result;
    await faultPoint("call.after_answer");
    record(context, sentJob, { key: start.key, mapping, result, ms: performance.now() - sentMs });
    return result.kind === "failed"
      ? { kind: "failed", failure: result, callNumber: start.key.callNumber }
      : { kind: "answered", model: sentJob.entry.model, result };
  } finally {
    admission.release(ending);
  }
}

/** A job started by an earlier attempt may belong to another model: the prompt's own, or its fallback. */
function startedBefore({ catalogue }: CallContext, job: Job, { model }: { readonly model: string }): Job {
  return { ...job, entry: catalogue.find(model) ?? job.entry };
}

/** Uncounts a call that was never made, since an item gets few. If that fails, the item has one call less; no harm beyond that. */
export async function withdraw({ db, log }: Pick<CallContext, "db" | "log">, key: CallKey): Promise<void> {
  await withdrawCall(db, key).catch((error: unknown) =>
    log.warn({ err: error, runId: key.runId }, "could not uncount a provider call that was not made"),
  );
}

interface StartedJob {
  readonly job: Job;
  readonly mapping: Mapping;
  readonly start: Exclude<CallStart, { kind: "used-up" }>;
  /** Index of the provider key, from 0. */
  readonly key: number;
}

/** Rejects when `signal` is aborted; reaching the deadline is a value. */
async function makeInTime(context: CallContext, started: StartedJob, signal: AbortSignal): Promise<ModelResult> {
  const { request, entry } = started.job;
  const leftMs = request.deadlineMs - performance.now();
  if (leftMs <= 0) return { ...TIMED_OUT, breaker: "ignored" }; // the model had no chance
  const timeLimitMs = Math.min(entry.limits.timeoutMs, leftMs);
  return withinTime(timeLimitMs, signal, async (own) => {
    const result = await make(context, { ...started, timeLimitMs }, own);
    if (signal.aborted) await discard(result);
    signal.throwIfAborted();
    return own.aborted && result.kind === "failed" ? TIMED_OUT : result;
  });
}

function make(
  context: CallContext,
  { timeLimitMs, ...started }: StartedJob & { readonly timeLimitMs: number },
  signal: AbortSignal,
): Promise<ModelResult> {
  const { job, start, key } = started;
  const { request, entry } = job;
  const call = { ...modelCall(started), key, timeLimitMs };
  if (!makesJobs(providerOf(entry.provider), entry.modality)) return context.adapter.callModel(call, signal);
  const store = (operation: JsonValue) =>
    storeOperation(context.db, start.key, { attempt: request.attempt, operation });
  const operation = start.kind === "started" ? start.operation : null;
  return runJob(context, { call, operation, store }, signal);
}

/** Removes a file that nobody waits for from disk. */
async function discard(result: ModelResult): Promise<void> {
  if (result.kind === "video" && "discard" in result.content) await result.content.discard();
}

function modelCall({ job, mapping, start }: StartedJob): Omit<ModelCall, "timeLimitMs" | "key"> {
  const { request, entry, correction } = job;
  const { onText } = request;
  const { callNumber } = start.key;
  const isFollowed = start.kind === "begun" && start.isFollowed && onText !== undefined;
  return {
    ...request,
    entry,
    mapping,
    correction,
    maxOutputTokens: outputTokensMax(entry, mapping, request.maxOutputTokens),
    itemIndex: request.item,
    callNumber,
    idempotencyKey: orderName(job),
    onText: isFollowed ? (text) => onText({ call: callNumber, text }) : null,
  };
}

/** A different order needs a different name: for a name it knows, a provider returns what it made before. */
function orderName({ request, entry, correction }: Job): string {
  const { runId, step, item, model } = request;
  const other = entry.model === model ? [] : [entry.model];
  return [runId, step, item, ...other, ...(correction === undefined ? [] : ["again"])].join(":");
}

interface Made {
  readonly key: CallKey;
  readonly mapping: Mapping;
  readonly result: ModelResult;
  readonly ms: number;
}

function record(context: CallContext, job: Job, { key, mapping, result, ms }: Made): void {
  const { entry } = job;
  const { usage } = result;
  const isFailed = result.kind === "failed";
  const outcome = isFailed ? result.cause : result.kind;
  calls.observe([entry.provider, outcome], ms / 1_000);
  context.record.add({
    key,
    outcome,
    httpStatus: isFailed ? result.httpStatus : null,
    code: isFailed ? result.code : null,
    requestId: "requestId" in result ? result.requestId : null,
    usage,
    costMicro: usage === null ? null : costMicro(entry, mapping, usage),
  });
  if (isFailed) logFailure(context, job, result);
}

function logFailure({ log }: CallContext, { request, entry }: Job, result: CallFailure): void {
  const { runId, step } = request;
  const { model, provider } = entry;
  const { cause, httpStatus, code } = result;
  const facts = { runId, step, model, provider, cause, httpStatus, code };
  if (cause === "model_missing")
    log.error(
      { ...facts, providerModel: entry.providerModel, successor: entry.successor ?? null },
      "the provider does not offer this model, or does not offer it to this account; move prompts to its successor",
    );
  else if (result.breaker === "opens")
    log.error(facts, "the provider rejects this installation: check the provider key and account");
  else log.warn(facts, "a model call failed");
}
