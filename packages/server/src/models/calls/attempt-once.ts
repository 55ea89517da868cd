/**
 * One send to a provider: admitted by the gate, counted in the database, made under its deadline, recorded. Whatever
 * the provider does is a value; what rejects is an abort, a bug, or an outage of the database.
 */
import { fault } from "../../platform/fault.ts";
import type { CallContext } from "./call-context.ts";
import { resolveMapping, type CatalogueEntry } from "../catalogue/catalogue.ts";
import { costMicro } from "../pricing/cost.ts";
import type { ModelCall, ModelResult } from "../ai-sdk/model-adapter.ts";
import type { Entry } from "../limits/model-gate.ts";
import { ratesOf } from "../pricing/price-plan.ts";
import { withdrawSend, type SendKey, type SendStart } from "./provider-calls-store.ts";
import { failure, type CallFailure } from "../providers/failure.ts";
import { callBytes } from "../pricing/usage.ts";
import { runVideo } from "./video-call.ts";
import { startDeadline } from "./waiting.ts";
import type { ModelRequest } from "./model-request.ts";

/** What is wanted, and the model that is to make it: the wanted one, or its fallback. */
export interface Job {
  readonly request: ModelRequest;
  readonly entry: CatalogueEntry;
}

export type Sent =
  | { readonly kind: "answered"; readonly result: Exclude<ModelResult, CallFailure> }
  /** `send`: the how manieth it was, from 1. */
  | { readonly kind: "failed"; readonly failure: CallFailure; readonly send: number }
  /** Nothing was sent: the model has no room, or is left in peace. */
  | Extract<Entry, { kind: "busy" }>
  /** Nothing was sent: earlier sends, perhaps of workers that crashed, were all there may be. */
  | { readonly kind: "used-up" };

export async function sendOnce(context: CallContext, job: Job, signal: AbortSignal): Promise<Sent> {
  const entrance = await context.gate.enter(job.entry, callBytes(job.request), signal);
  if (entrance.kind === "busy") return entrance;
  let leaveAs: ModelResult | "aborted" | "not-sent" = "not-sent";
  try {
    const start = await context.counter.begin(job);
    if (start.kind === "used-up") return start;
    await fault("call.before_send");
    if (signal.aborted) await withdraw(context, start);
    signal.throwIfAborted();
    leaveAs = "aborted";
    const result = await makeInTime(context, { job, start }, signal);
    leaveAs = result;
    await fault("call.after_answer");
    record(context, job, { key: start.key, result });
    return result.kind === "failed"
      ? { kind: "failed", failure: result, send: start.key.send }
      : { kind: "answered", result };
  } finally {
    entrance.leave(leaveAs);
  }
}

/** The sends of an item are few, and this one was never made. One that stays counted is no more than that. */
async function withdraw({ db, log }: CallContext, start: StartedJob["start"]): Promise<void> {
  if (start.kind === "started") return;
  await withdrawSend(db, start.key).catch((error: unknown) =>
    log.warn({ err: error, runId: start.key.runId }, "a send that was not made stays counted"),
  );
}

interface StartedJob {
  readonly job: Job;
  readonly start: Exclude<SendStart, { kind: "used-up" }>;
}

const TIMED_OUT = failure("timeout", { retry: "never", breaker: "counted" });

/** Rejects when `signal` is aborted; the deadline's end is a value. */
async function makeInTime(context: CallContext, started: StartedJob, signal: AbortSignal): Promise<ModelResult> {
  const { request, entry } = started.job;
  const leftMs = request.deadlineMs - performance.now();
  if (leftMs <= 0) return { ...TIMED_OUT, breaker: "ignored" }; // the model had no chance
  const deadline = startDeadline(Math.min(entry.limits.timeoutMs, leftMs), signal);
  try {
    const result = await make(context, started, deadline.signal);
    if (signal.aborted) await discard(result);
    signal.throwIfAborted();
    return deadline.hasPassed() && result.kind === "failed" ? TIMED_OUT : result;
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.hasPassed()) return TIMED_OUT;
    throw error;
  } finally {
    deadline.stop();
  }
}

function make(context: CallContext, { job, start }: StartedJob, signal: AbortSignal): Promise<ModelResult> {
  const { request, entry } = job;
  const call = modelCall(job, start.key);
  return entry.modality === "video"
    ? runVideo(context, { request, call, start }, signal)
    : context.adapter.callModel(call, signal);
}

/** A file that came for nobody does not stay on the disk. */
async function discard(result: ModelResult): Promise<void> {
  if (result.kind === "video" && "discard" in result.content) await result.content.discard();
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
    callNumber: key.send,
    idempotencyKey: `${request.runId}:${request.step}:${request.item}`,
  };
}

function record(context: CallContext, job: Job, { key, result }: { key: SendKey; result: ModelResult }): void {
  const { request, entry } = job;
  const { usage } = result;
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
  if (isFailed) logFailure(context, job, result);
}

function logFailure({ log }: CallContext, { request, entry }: Job, result: CallFailure): void {
  const { runId, step } = request;
  const { model, provider } = entry;
  const { cause, httpStatus, code } = result;
  const facts = { runId, step, model, provider, cause, httpStatus, code };
  if (result.breaker === "opens")
    log.error(facts, "the provider refuses this installation: check its key and its account");
  else log.warn(facts, "a model call failed");
}
