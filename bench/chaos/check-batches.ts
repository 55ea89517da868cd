/** Checks the guarantees of batches and webhooks against the database and what the receiver got. */
import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../packages/server/src/platform/database/database.ts";

const POLL_MS = 200;

/**
 * Lets every pending event arrive: a delivery whose sender was killed waits for a minute, and one that met a fault
 * waits for its next attempt.
 */
export async function awaitDeliveries(db: Database, msMax: number): Promise<void> {
  const endsMs = performance.now() + msMax;
  while (performance.now() < endsMs) {
    const pending = await db.query(
      "update webhook_deliveries set due_at = least(due_at, promptd_now()) where state = 'pending' returning 1",
    );
    if (pending.length === 0) return;
    await wait(POLL_MS);
  }
}

/** @param heard runs whose end the receiver got. @returns every broken guarantee. */
export async function checkBatches(db: Database, heard: ReadonlySet<string>): Promise<string[]> {
  const broken = await db.tx(
    (tx) =>
      tx.query<{ fault: string; id: string }>(`
    select 'a batch that has not ended' as fault, id from batches where finished_at is null
    union all select 'an item of a finished batch that has not ended', b.id
      from batches b join batch_items i on i.batch_id = b.id
      where b.status = 'finished' and (i.ended_at is null or (i.run_id is null and i.error is null))
    union all select 'a run of two items', run_id from batch_items where run_id is not null group by run_id having count(*) > 1
    union all select 'a run of a batch that none of its items has', r.id
      from batches b join runs r on r.account_id = b.account_id and r.request_id = b.request_id
      where not exists (select 1 from batch_items i where i.batch_id = b.id and i.run_id = r.id)
    union all select 'an item whose run does not exist', i.run_id
      from batch_items i where i.run_id is not null
        and not exists (select 1 from runs r where r.account_id = i.account_id and r.id = i.run_id)
    union all select 'a batch with wrong sums', b.id
      from batches b cross join lateral (
        select count(*) filter (where r.status = 'succeeded') as succeeded, coalesce(sum(r.credits), 0) as credits
        from batch_items i join runs r on r.account_id = i.account_id and r.id = i.run_id where i.batch_id = b.id) has
      where b.finished_at is not null and (b.succeeded <> has.succeeded or b.credits <> has.credits)
    union all select 'an end without its one event', r.id
      from runs r join webhooks w on w.account_id = r.account_id
      where r.finished_at is not null and 1 <> (
        select count(*) from webhook_deliveries d
        where d.account_id = r.account_id and d.webhook_id = w.id and d.event = 'run.finished' and d.run_id = r.id)`),
    { statementTimeoutMs: 0 },
  );
  const ended = await db.query<{ id: string }>(
    "select r.id from runs r where r.finished_at is not null and exists (select 1 from webhooks w where w.account_id = r.account_id)",
  );
  return [
    ...broken.map(({ fault, id }) => `${fault}: ${id}`),
    ...ended.filter(({ id }) => !heard.has(id)).map(({ id }) => `an end that its webhook never heard of: ${id}`),
  ];
}
