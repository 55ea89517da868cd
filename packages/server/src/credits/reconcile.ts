import type { Database } from "../platform/database/database.ts";
import { isStatementTimeout } from "../platform/database/errors.ts";
import { FIRST_ID } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { createCounter } from "../platform/metrics/metrics.ts";
import { createAdaptiveBatch } from "../platform/resilience/adaptive-batch.ts";
import { retry } from "../platform/resilience/retry.ts";
import { freezeAccount, listFrozen, type FrozenAccount } from "./freezes-store.ts";

/** One disagreement between balances, journal, holds, and runs. None is harmless. */
interface LedgerMismatch {
  readonly fault: string;
  readonly accountId: string;
  readonly runId: string | null;
  readonly detail: string;
}

export interface LedgerReport {
  readonly accounts: number;
  readonly mismatches: readonly LedgerMismatch[];
  /** Includes accounts without a mismatch: they stay frozen until an operator unfreezes them. */
  readonly frozen: readonly FrozenAccount[];
}

/**
 * Checks every balance against the journal, every hold against its run, and every charge against its capture, in one
 * snapshot.
 */
export async function checkLedger(db: Database): Promise<LedgerReport> {
  return db.tx(
    async (tx) => {
      await tx.query("set transaction isolation level repeatable read, read only");
      const counts = await tx.query<{ accounts: number }>("select count(*) as accounts from credit_accounts");
      const [{ accounts }] = counts as [{ accounts: number }]; // a count is always one row
      const mismatches = await tx.query<LedgerMismatch>(`${AUDIT} order by account_id, fault, run_id`);
      return { accounts, mismatches, frozen: await listFrozen(tx) };
    },
    { statementTimeoutMs: 0 },
  );
}

const AUDIT = `select fault, account_id as "accountId", run_id as "runId", detail from credit_audit`;
const AUDIT_BATCH = 500;
const mismatchesFound = createCounter(
  {
    name: "promptd_ledger_mismatches_total",
    help: "What the audits of this process found in the ledger that does not add up. Each audit of an account counts its mismatches again.",
  },
  [],
);

/** The audit runs alone and locks nothing, but a transaction of minutes would hold up index cleanup. */
const AUDIT_TIME = { statementTimeoutMs: 30_000 };
const QUICK_MS = 10_000;

/**
 * Creates the periodic audit. Each run audits the next batch of accounts in the order of their ids, so that no run
 * reads the whole journal. An account with a mismatch is frozen: it accepts no new holds until an operator unfreezes
 * it. A balance is never repaired by an update; a repair is a journal row of kind `adjust`. Every run makes progress: a
 * batch that takes too long is halved, and a single account that takes too long is skipped. `promptd admin ledger
 * check` has no time limit.
 */
export function createAudit(db: Database, log: Log): (stop?: AbortSignal) => Promise<void> {
  const batch = createAdaptiveBatch({ max: AUDIT_BATCH, quickMs: QUICK_MS, isTooLarge: isStatementTimeout });
  let after = FIRST_ID;
  return async (stop) => {
    const { size } = batch;
    const accounts = await listAccounts(db, after, size);
    let ids: readonly string[] = [];
    const auditBatch = (): Promise<LedgerMismatch[]> =>
      batch.run((count) => {
        stop?.throwIfAborted();
        ids = accounts.slice(0, count);
        return findMismatches(db, ids);
      }, accounts.length);
    const rows = await retry(auditBatch, {
      on: (error) => isStatementTimeout(error) && ids.length > 1,
      signal: stop,
    }).catch((error: unknown) => {
      if (!isStatementTimeout(error) || ids.length > 1) throw error;
      log.warn({ accountId: ids[0] }, "the audit of an account took too long and was skipped");
      return [];
    });
    const isEnd = accounts.length < size && ids.length === accounts.length;
    after = isEnd ? FIRST_ID : (ids.at(-1) ?? FIRST_ID);
    await freeze(db, log, rows);
  };
}

async function listAccounts(db: Database, after: string, limit: number): Promise<string[]> {
  const rows = await db.query<{ account_id: string }>(
    "select account_id from credit_accounts where account_id > $1 order by account_id limit $2",
    [after, limit],
  );
  return rows.map((row) => row.account_id);
}

function findMismatches(db: Database, ids: readonly string[]): Promise<LedgerMismatch[]> {
  const text = `${AUDIT} where account_id = any ($1::uuid[])`;
  return db.tx((tx) => tx.query<LedgerMismatch>(text, [ids]), AUDIT_TIME);
}

async function freeze(db: Database, log: Log, mismatches: readonly LedgerMismatch[]): Promise<void> {
  for (const mismatch of mismatches) {
    log.error(mismatch, "the ledger does not add up; the account accepts no new paid runs");
  }
  mismatchesFound.add([], mismatches.length);
  const faults = Map.groupBy(mismatches, (mismatch) => mismatch.accountId);
  for (const [accountId, found] of faults) {
    const names = [...new Set(found.map((mismatch) => mismatch.fault))].join(", ");
    await freezeAccount(db, accountId, `the audit found: ${names}`);
  }
}
