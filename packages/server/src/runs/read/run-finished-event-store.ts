import type { OutputItem } from "@promptd/contract";
import type { FinishedRunData } from "@promptd/contract/manage";
import { isoTime } from "../../platform/clock.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { idTimeMs } from "../../platform/ids.ts";
import { reasonForOwner } from "../work/run-outcome.ts";

interface FinishedRow {
  status: FinishedRunData["runStatus"];
  prompt_version_id: string;
  run_name: string;
  credits: number | null;
  fail_reason: string | null;
  finished_at: Date;
  outputs: OutputItem[] | null;
}

/**
 * What is reported of a run that has ended: neither its inputs nor its template, and no outputs that are larger than
 * `outputBytesMax`. Null: the account has no such run.
 */
export async function findFinishedRun(
  db: Queryable,
  { accountId, runId }: { readonly accountId: string; readonly runId: string },
  outputBytesMax: number,
): Promise<FinishedRunData | null> {
  const text = `select status, prompt_version_id, run_name, credits, fail_reason, finished_at,
      case when outputs_bytes <= $3 then outputs end as outputs
    from runs where account_id = $1 and id = $2 and finished_at is not null`;
  const [row] = await db.query<FinishedRow>({ name: "run_finished", text }, [accountId, runId, outputBytesMax]);
  if (row === undefined) return null;
  return {
    runId,
    runStatus: row.status,
    promptVersionId: row.prompt_version_id,
    runName: row.run_name,
    credits: row.credits,
    reason: reasonForOwner(row.fail_reason),
    createdAt: isoTime(idTimeMs(runId)),
    finishedAt: row.finished_at.toISOString(),
    outputs: row.outputs,
  };
}
