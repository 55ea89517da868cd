/** What happens to the runs of a deleted account, and what its export contains about them. */
import type { Database, Queryable } from "../platform/database/database.ts";
import { batchesOfAccount } from "./batches/batches-of-account-store.ts";

async function listActiveRuns(db: Queryable, accountId: string, limit: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    "select id from runs where account_id = $1 and status in ('queued', 'running') limit $2",
    [accountId, limit],
  );
  return rows.map(({ id }) => id);
}

/** Removes final runs with everything stored for them. @returns how many. */
async function deleteRuns(db: Database, accountId: string, limit: number): Promise<number> {
  return db.tx(async (tx) => {
    const rows = await tx.query<{ id: string }>(
      `delete from runs where account_id = $1 and id in (
         select id from runs where account_id = $1 and finished_at is not null order by id limit $2) returning id`,
      [accountId, limit],
    );
    const ids = rows.map(({ id }) => id);
    await tx.query("delete from run_steps where account_id = $1 and run_id = any($2::uuid[])", [accountId, ids]);
    await tx.query("delete from run_pieces where run_id = any($1::uuid[])", [ids]);
    await tx.query("delete from run_followers where run_id = any($1::uuid[])", [ids]);
    return ids.length;
  });
}

/** The idempotency keys that callers have used. */
async function deleteIdempotencyKeys(db: Queryable, accountId: string): Promise<void> {
  await db.query("delete from idempotency_keys where account_id = $1", [accountId]);
}

/** Runs by id, at most `bytesMax` bytes in total, unless the first alone is larger. */
function listRunsOf(
  db: Queryable,
  accountId: string,
  { after, limit, bytesMax }: { readonly after: string; readonly limit: number; readonly bytesMax: number },
): Promise<{ readonly runId: string }[]> {
  return db.query(
    `with sized as (
       select id, sum(inputs_bytes + outputs_bytes) over (order by id) as bytes, row_number() over (order by id) as n
       from (select id, inputs_bytes, outputs_bytes from runs where account_id = $1 and id > $2 order by id limit $3) page
     )
     select r.id as "runId", r.status as "runStatus", r.run_name as title, r.prompt_version_id as "promptVersionId", r.model,
       r.inputs, r.run_options as "runOptions", r.outputs, r.credits, r.attempt as attempts, r.api_key_id as "keyId",
       r.request_id as "requestId", r.created_at as "createdAt", r.started_at as "startedAt", r.finished_at as "finishedAt"
     from sized join runs r on r.account_id = $1 and r.id = sized.id where sized.bytes <= $4 or sized.n = 1 order by r.id`,
    [accountId, after, limit, bytesMax],
  );
}

/** Daily sums, in order. */
function listUsageOf(
  db: Queryable,
  accountId: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<Record<string, unknown>[]> {
  return db.query(
    `select to_char(day, 'YYYY-MM-DD') as day, api_key_id as "keyId", prompt_id as "promptId", model, runs, failed, credits,
       input_tokens as "inputTokens", output_tokens as "outputTokens"
     from usage_days where account_id = $1 order by usage_days.day, api_key_id, prompt_id, model limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

/** Exported as one object: only the deletion and the export of an account use them. */
export const runsOfAccount = {
  listActiveRuns,
  deleteRuns,
  deleteIdempotencyKeys,
  listRunsOf,
  listUsageOf,
  ...batchesOfAccount,
} as const;
