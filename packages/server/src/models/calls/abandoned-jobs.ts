/**
 * Cancels abandoned jobs at their provider: jobs that timed out, and jobs whose run was canceled by its caller or failed
 * without them. They are found in the record of calls, not by the worker that started them: a canceled run may be waiting
 * between two attempts, or its worker may be dead.
 */
import { withDeadline } from "../../platform/resilience/deadline.ts";
import type { Tick } from "../../platform/periodic-work.ts";
import type { ModelAdapter } from "../ai-sdk/model-adapter.ts";
import type { CallContext } from "./call-context.ts";
import { recordEnds, findAbandonedJobs, type AbandonedJob, type CallEnd } from "./provider-calls-store.ts";
import type { FailureCause } from "../providers/failure.ts";

/** The operator pays for every second of an abandoned job. */
const EVERY_SECONDS = 2;
const CANCEL_MS = 10_000;
const BATCH = 50;

export interface AbandonedJobsOptions extends Pick<CallContext, "db" | "log" | "catalogue"> {
  readonly adapter: Pick<ModelAdapter, "cancelJob">;
}

/** Only for processes that have the provider keys. */
export function createAbandonedJobsTick(options: AbandonedJobsOptions): Tick {
  return {
    name: "abandoned-jobs",
    everySeconds: EVERY_SECONDS,
    run: async () => {
      const jobs = await findAbandonedJobs(options.db, BATCH);
      const ends = await Promise.all(jobs.map((job) => cancel(options, job)));
      await recordEnds(
        options.db,
        ends.filter((end) => end !== null),
      );
    },
  };
}

/** Null: the failure may be temporary, and the next tick retries. */
async function cancel({ adapter, catalogue, log }: AbandonedJobsOptions, job: AbandonedJob): Promise<CallEnd | null> {
  const { key, model, operation } = job;
  const entry = catalogue.find(model);
  const result = await withDeadline(CANCEL_MS, async (signal) =>
    entry === null ? { kind: "impossible" as const } : adapter.cancelJob({ entry, operation }, signal),
  ).catch((error: unknown) => {
    log.warn({ err: error, runId: key.runId, model }, "a request to cancel a job failed");
    return { kind: "broken" as const };
  });
  const mayPass = result.kind === "broken" || (result.kind === "failed" && PASSING.has(result.cause));
  if (mayPass && !job.isLastTry) return null;
  const outcome = OUTCOMES[result.kind];
  const httpStatus = result.kind === "failed" ? result.httpStatus : null;
  const code = result.kind === "failed" ? result.code : null;
  const facts = { runId: key.runId, step: key.step, model, outcome, httpStatus, code };
  if (result.kind === "canceled") log.info(facts, "an abandoned job was canceled at its provider");
  else log.warn(facts, "an abandoned job continues at its provider, which may bill it");
  return { key, outcome, httpStatus, code, requestId: null, usage: null, costMicro: null };
}

/** Canceling twice does no harm. */
const PASSING: ReadonlySet<FailureCause> = new Set(["rate_limited", "overloaded", "network"]);

const OUTCOMES = {
  canceled: "canceled",
  impossible: "cancel_impossible",
  failed: "cancel_failed",
  refused: "cancel_failed",
  broken: "cancel_failed",
} as const;
