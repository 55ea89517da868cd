import type { Database } from "../../platform/database/database.ts";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import type { ExecuteRunPorts } from "./execute.ts";

/**
 * Reads the inputs that were too large to come with the claim: one run's after the other, so that over a slow line each
 * has all of it for the time of its statement, and the pool's other connections are left to other runs.
 */
export function createInputsReader(db: Database): ExecuteRunPorts["readInputs"] {
  const oneAtATime = createSemaphore({ permits: 1 });
  return async (run, signal) => {
    if (run.inputs !== null) return run.inputs;
    const [row] = await oneAtATime.run(
      () =>
        db.query<{ inputs: unknown }>(
          { name: "run_inputs", text: "select inputs from runs where account_id = $1 and id = $2" },
          [run.accountId, run.runId],
        ),
      { signal },
    );
    if (row === undefined) throw new Error(`The row of run ${run.runId} is gone.`);
    return row.inputs;
  };
}
