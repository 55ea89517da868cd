import type { OutputItem, RunStatus } from "@promptd/contract";

/** `released`: the run has no worker any more (lease expired, worker draining, provider said "later"). */
export type RunTransition = "claimed" | "completed" | "broke" | "canceled" | "released" | "gave-up";

/**
 * The whole life of a run, as callers see it. `null` means the event cannot happen in that state and is dropped: a
 * worker that lost its lease may still report, and must change nothing. The type has no Partial, so a new state or
 * event does not compile until every cell is decided. The database holds the same rules (sql/); a test
 * drives both through every cell.
 */
export const TRANSITIONS: Record<RunStatus, Record<RunTransition, RunStatus | null>> = {
  queued: { claimed: "running", completed: null, broke: null, canceled: "failed", released: null, "gave-up": "failed" },
  running: {
    claimed: "running",
    completed: "succeeded",
    broke: "failed",
    canceled: "failed",
    released: "running",
    "gave-up": "failed",
  },
  succeeded: { claimed: null, completed: null, broke: null, canceled: null, released: null, "gave-up": null },
  failed: { claimed: null, completed: null, broke: null, canceled: null, released: null, "gave-up": null },
};

export function isFinal(status: RunStatus): boolean {
  return Object.values(TRANSITIONS[status]).every((next) => next === null);
}

/** What a run shows while it is not final, whatever has already been written. */
export function visibleOutputs(status: RunStatus, outputs: readonly OutputItem[]): readonly OutputItem[] {
  return isFinal(status) ? outputs : [];
}
