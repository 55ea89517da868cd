/**
 * A video takes minutes: it is started, and then polled until it is ready. How the provider names it is stored before
 * the first poll, so that another worker goes on with the same video after a crash.
 */
import { fault } from "../../platform/fault.ts";
import { OUTAGE_POLICY } from "../../platform/database/errors.ts";
import { retry } from "../../platform/resilience/retry.ts";
import type { CallContext } from "./call-context.ts";
import type { JsonValue } from "../catalogue/mapping.ts";
import type { ModelCall, ModelResult } from "../ai-sdk/model-adapter.ts";
import { storeOperation, type CallStart } from "./provider-calls-store.ts";
import type { FailureCause } from "../providers/failure.ts";
import { withinTime } from "./time-limit.ts";
import type { ModelRequest } from "./model-request.ts";

const START_MS = 60_000;
const POLL_MS = 30_000;
/** For 200 MiB at 6 Mbit/s. */
const FETCH_MS = 300_000;
/** Between polls; the last one repeats. */
const POLL_WAITS_MS = [2_000, 3_000, 5_000, 8_000, 10_000] as const;
/** A finished video whose file cannot be fetched is paid for: it is tried again, but not for half an hour. */
const FETCHES_MAX = 3;

interface VideoJob {
  readonly request: ModelRequest;
  readonly call: ModelCall;
  readonly start: Exclude<CallStart, { kind: "used-up" }>;
}

type VideoContext = Pick<CallContext, "adapter" | "db" | "wait">;

/** @param signal carries the deadline of the run. */
export async function runVideo(context: VideoContext, job: VideoJob, signal: AbortSignal): Promise<ModelResult> {
  if (job.start.kind === "started")
    return poll(context, job, { operation: job.start.operation, isResumed: true, signal });
  signal.throwIfAborted();
  const start = exceptRunGone(signal);
  const begun = await withinTime(START_MS, start.signal, (own) => context.adapter.startVideo(job.call, own)).finally(
    start.stop,
  );
  if (begun.kind !== "started") return begun;
  await fault("call.after_send");
  const { attempt } = job.request;
  // Given up, the video would be paid for once more, and nobody could stop this one: its name is known here alone.
  await retry(() => storeOperation(context.db, job.start.key, { attempt, operation: begun.operation }), OUTAGE_POLICY);
  await fault("op.persisted");
  return poll(context, job, { operation: begun.operation, isResumed: false, signal });
}

/** Why a run's work ends: its caller canceled it, or another worker has it. */
export class RunGone extends Error {
  override readonly name = "RunGone";
  constructor() {
    super("the run was canceled, or another worker has it");
  }
}

/**
 * Follows a signal except to RunGone: a start that is broken off goes on at the provider, paid and under a name that
 * nobody knows. So it may finish, and the video can then be canceled by its name (canceled-videos.ts).
 */
function exceptRunGone(signal: AbortSignal): { readonly signal: AbortSignal; readonly stop: () => void } {
  const own = new AbortController();
  const follow = (): void => {
    if (!(signal.reason instanceof RunGone)) own.abort(signal.reason);
  };
  signal.addEventListener("abort", follow, { once: true });
  return { signal: own.signal, stop: () => signal.removeEventListener("abort", follow) };
}

async function poll(
  context: VideoContext,
  { call }: VideoJob,
  { operation, isResumed, signal }: { operation: JsonValue; isResumed: boolean; signal: AbortSignal },
): Promise<ModelResult> {
  let failedFetches = 0;
  for (let polls = 0; ; polls += 1) {
    const waitMs = POLL_WAITS_MS[Math.min(polls, POLL_WAITS_MS.length - 1)] ?? 0;
    if (polls > 0 || !isResumed) await context.wait(waitMs, signal);
    const { entry, mapping } = call;
    const answer = await withinTime(POLL_MS, signal, (own) =>
      context.adapter.pollVideo({ entry, mapping, operation }, own),
    );
    if (answer.kind === "pending") continue;
    const result = answer.kind === "ready" ? await withinTime(FETCH_MS, signal, (own) => answer.load(own)) : answer;
    if (result.kind !== "failed") return result;
    if (result.cause === "image_unusable" && (failedFetches += 1) < FETCHES_MAX) continue;
    if (!PASSING.has(result.cause)) return result;
  }
}

/** A poll costs nothing, so whatever may pass is waited out until the run's deadline. */
const PASSING: ReadonlySet<FailureCause> = new Set(["rate_limited", "overloaded", "network", "timeout", "protocol"]);
