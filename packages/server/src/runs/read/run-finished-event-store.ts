import type { FinishedRunData } from "@promptd/contract/manage";
import { isoTime } from "../../platform/clock.ts";
import { queryAnswer } from "../../platform/database/answers.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { idTimeMs } from "../../platform/ids.ts";
import { reasonForOwner } from "../work/run-outcome.ts";

/**
 * What is reported about a run that has ended: neither its inputs nor its template, and no outputs larger than
 * `outputBytesMax`. Null: the account has no such run.
 */
export async function findFinishedRun(
  db: Queryable,
  accountId: string,
  runId: string,
  outputBytesMax: number,
): Promise<FinishedRunData | null> {
  const text = `select id as "runId", status as "runStatus", prompt_version_id as "promptVersionId", run_name as "runName",
      credits, fail_reason as reason, finished_at as "finishedAt",
      case when outputs_bytes <= $3 then outputs end as outputs
    from runs where account_id = $1 and id = $2 and finished_at is not null`;
  const values = [accountId, runId, outputBytesMax];
  const run = await queryAnswer<Omit<FinishedRunData, "createdAt">>(db, { name: "run_finished", text }, values);
  return run && { ...run, reason: reasonForOwner(run.reason), createdAt: isoTime(idTimeMs(runId)) };
}
