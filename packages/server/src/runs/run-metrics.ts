import { createCounter, type Counter } from "../platform/metrics/metrics.ts";

/** Whatever makes runs final counts them here: a worker, its sweep, or a cancellation. */
export const runEnds: Counter<["status", "reason"]> = createCounter(
  {
    name: "promptd_runs_ended_total",
    help: "Runs that this process made final, by status and, for failed runs, by reason. overdue: the deadline passed, or the worker died during the last attempt.",
  },
  ["status", "reason"],
);
