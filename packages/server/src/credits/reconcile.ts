import type { Database, Queryable } from "../platform/database.ts";
import type { Log } from "../platform/log.ts";

/** One disagreement between balances, journal, holds and runs. There is no harmless one. */
export interface LedgerMismatch {
  readonly fault: string;
  readonly accountId: string;
  readonly runId: string | null;
  readonly detail: string;
}

export interface LedgerReport {
  readonly accounts: number;
  readonly mismatches: readonly LedgerMismatch[];
}

/** Proves every balance from the journal, every hold from its run and every charge from its capture, in one snapshot. */
export async function checkLedger(db: Database): Promise<LedgerReport> {
  return db.tx(
    async (tx) => {
      await tx.query("set transaction isolation level repeatable read, read only");
      const [count] = await tx.query<{ accounts: number }>("select count(*) as accounts from credit_accounts");
      return { accounts: count?.accounts ?? 0, mismatches: await findMismatches(tx) };
    },
    { statementTimeoutMs: 0 },
  );
}

async function findMismatches(db: Queryable): Promise<LedgerMismatch[]> {
  const rows = await db.query<{ fault: string; account_id: string; run_id: string | null; detail: string }>(
    "select fault, account_id, run_id, detail from credit_audit order by account_id, fault, run_id",
  );
  return rows.map((row) => ({ fault: row.fault, accountId: row.account_id, runId: row.run_id, detail: row.detail }));
}

/**
 * The periodic form: an account with a mismatch takes no new holds until a person has looked. Balances are never
 * repaired by an update: a repair is a journal row of kind `adjust`.
 */
export async function freezeMismatches(db: Database, log: Log): Promise<void> {
  const { mismatches } = await checkLedger(db);
  if (mismatches.length === 0) return;
  for (const mismatch of mismatches)
    log.error(mismatch, "the ledger does not add up; the account takes no new paid runs");
  await db.query(
    "update credit_accounts set frozen_at = coalesce(frozen_at, promptd_now()) where account_id = any ($1)",
    [[...new Set(mismatches.map((mismatch) => mismatch.accountId))].sort()],
  );
}
