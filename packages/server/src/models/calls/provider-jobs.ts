/**
 * A video takes minutes, and a picture may wait in a queue: the job is started, then polled until it is done. The
 * provider's name for the job is stored before the first poll, so another worker can continue after a crash.
 */
import { faultPoint } from "../../platform/fault-injection.ts";
import { OUTAGE_POLICY } from "../../platform/database/errors.ts";
import { retry } from "../../platform/resilience/retry.ts";
import type { CallContext } from "./call-context.ts";
import type { JsonValue } from "../../platform/json.ts";
import type { ModelCall, ModelResult } from "../ai-sdk/model-adapter.ts";
import type { FailureCause } from "../providers/failure.ts";
import { withinTime } from "./time-limit.ts";

const START_MS = 60_000;
const POLL_MS = 30_000;
/** Enough for 200 MiB at 6 Mbit/s. */
const FETCH_MS = 300_000;
/** Waits between polls; the last one repeats. A picture takes seconds, so its caller may be waiting. */
const POLL_WAITS_MS = {
  image: [500, 1_000, 1_000, 2_000],
  video: [2_000, 3_000, 5_000, 8_000, 10_000],
} as const;
/** A result that cannot be fetched has been paid for, so the fetch is retried, but not for as long as half an hour. */
const FETCHES_MAX = 3;

export interface ProviderJob {
  readonly call: ModelCall;
  /** The name of a job that was already started; null: start it. */
  readonly operation: JsonValue;
  /** Stores the name of a started job durably. */
  readonly store: (operation: JsonValue) => Promise<unknown>;
}

type JobContext = Pick<CallContext, "adapter" | "wait">;

/** @param signal carries the deadline of the run. */
export async function runJob(context: JobContext, job: ProviderJob, signal: AbortSignal): Promise<ModelResult> {
  const { call, operation } = job;
  if (operation !== null) return poll(context, { call, operation, isResumed: true }, signal);
  signal.throwIfAborted();
  const start = unlessRunIsGone(signal);
  const begun = await withinTime(START_MS, start.signal, (own) => context.adapter.startJob(call, own)).finally(
    start.stop,
  );
  if (begun.kind !== "started") return begun;
  await faultPoint("call.after_send");
  // Without this, the job would be paid for again, and nobody could stop this one: only this process knows its name.
  await retry(() => job.store(begun.operation), OUTAGE_POLICY);
  await faultPoint("op.persisted");
  return poll(context, { call, operation: begun.operation, isResumed: false }, signal);
}

/** Why work on a run ends: its caller canceled it, or another worker has it. */
export class RunGone extends Error {
  override readonly name = "RunGone";
  constructor() {
    super("the run was canceled, or another worker has it");
  }
}

/**
 * Follows a signal, except for RunGone: if a start is interrupted, the job continues at the provider, billed and under a
 * name that nobody knows. So the start may finish, and the job can then be canceled by its name (abandoned-jobs.ts).
 */
function unlessRunIsGone(signal: AbortSignal): { readonly signal: AbortSignal; readonly stop: () => void } {
  const own = new AbortController();
  const follow = (): void => {
    if (!(signal.reason instanceof RunGone)) own.abort(signal.reason);
  };
  signal.addEventListener("abort", follow, { once: true });
  return { signal: own.signal, stop: () => signal.removeEventListener("abort", follow) };
}

/**
 * However polling ends, the job was paid for or is under way, so no failure here lets it be started again. A resumed job
 * may have finished long ago, so its first poll is immediate.
 */
async function poll(
  context: JobContext,
  { call, operation, isResumed }: Pick<ProviderJob, "call" | "operation"> & { readonly isResumed: boolean },
  signal: AbortSignal,
): Promise<ModelResult> {
  const waits = POLL_WAITS_MS[call.entry.modality === "video" ? "video" : "image"];
  let failedFetches = 0;
  for (let polls = 0; ; polls += 1) {
    const waitMs = waits[Math.min(polls, waits.length - 1)] ?? 0;
    if (polls > 0 || !isResumed) await context.wait(waitMs, signal);
    const answer = await withinTime(POLL_MS, signal, (own) => context.adapter.pollJob({ call, operation }, own));
    if (answer.kind === "pending") continue;
    const result = answer.kind === "ready" ? await withinTime(FETCH_MS, signal, (own) => answer.load(own)) : answer;
    if (result.kind !== "failed") return result;
    if (result.cause === "image_unusable" && (failedFetches += 1) < FETCHES_MAX) continue;
    if (PASSING.has(result.cause)) continue;
    // The job is gone; the model itself existed.
    return { ...result, cause: result.cause === "model_missing" ? "job_failed" : result.cause, retry: "never" };
  }
}

/**
 * Polls are free, so temporary failures are waited out until the run's deadline. So are a rejected key and an exhausted
 * account: the job is under way and billed, and another key or model would cost extra.
 */
const PASSING: ReadonlySet<FailureCause> = new Set([
  "rate_limited",
  "overloaded",
  "network",
  "timeout",
  "protocol",
  "credentials",
  "quota",
]);
