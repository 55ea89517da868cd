import type { Database } from "../../platform/database/database.ts";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import type { ClaimedRun } from "./queue.ts";

/** Makes a claimed run whole. @throws the signal's reason when it aborts before the inputs are asked for. */
export type ReadInputs = (run: ClaimedRun, signal: AbortSignal) => Promise<ClaimedRun>;

/**
 * Reads the inputs that were too large to come with the claim: one run's after the other, so that over a slow line each
 * has all of it for the time of its statement, and the pool's other connections are left to other runs.
 */
export function createInputsReader(db: Database): ReadInputs {
  const oneAtATime = createSemaphore({ permits: 1 });
  return async (run, signal) => {
    if (run.inputs !== null) return run;
    const [row] = await oneAtATime.run(
      () =>
        db.query<{ inputs: unknown }>(
          { name: "run_inputs", text: "select inputs from runs where account_id = $1 and id = $2" },
          [run.accountId, run.runId],
        ),
      { signal },
    );
    if (row === undefined) throw new Error(`The row of run ${run.runId} is gone.`);
    return { ...run, inputs: row.inputs };
  };
}
