import type { Database } from "../platform/database.ts";
import type { Log } from "../platform/log.ts";

/** One disagreement between balances, journal, holds and runs. There is no harmless one. */
interface LedgerMismatch {
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
      const counts = await tx.query<{ accounts: number }>("select count(*) as accounts from credit_accounts");
      const [{ accounts }] = counts as [{ accounts: number }]; // a count is always one row
      const rows = await tx.query<MismatchRow>(`${AUDIT} order by account_id, fault, run_id`);
      return { accounts, mismatches: rows.map(toMismatch) };
    },
    { statementTimeoutMs: 0 },
  );
}

const AUDIT = "select fault, account_id, run_id, detail from credit_audit";
const AUDIT_BATCH = 500;

interface MismatchRow {
  fault: string;
  account_id: string;
  run_id: string | null;
  detail: string;
}

function toMismatch(row: MismatchRow): LedgerMismatch {
  return { fault: row.fault, accountId: row.account_id, runId: row.run_id, detail: row.detail };
}

/**
 * The periodic form, a batch of accounts per turn in the order of their ids, so that no turn reads the whole journal. An
 * account with a mismatch takes no new holds until a person has looked: balances are never repaired by an update, a
 * repair is a journal row of kind `adjust`.
 */
export function createAudit(db: Database, log: Log): () => Promise<void> {
  let after = "00000000-0000-0000-0000-000000000000";
  return async () => {
    const accounts = await db.query<{ account_id: string }>(
      `select account_id from credit_accounts where account_id > $1 order by account_id limit ${AUDIT_BATCH}`,
      [after],
    );
    const ids = accounts.map((account) => account.account_id);
    const rows = await db.query<MismatchRow>(`${AUDIT} where account_id = any ($1::uuid[])`, [ids]);
    after = (ids.length === AUDIT_BATCH ? ids.at(-1) : undefined) ?? "00000000-0000-0000-0000-000000000000";
    if (rows.length > 0) await freeze(db, log, rows.map(toMismatch));
  };
}

async function freeze(db: Database, log: Log, mismatches: readonly LedgerMismatch[]): Promise<void> {
  for (const mismatch of mismatches) {
    log.error(mismatch, "the ledger does not add up; the account takes no new paid runs");
  }
  await db.query(
    "update credit_accounts set frozen_at = coalesce(frozen_at, promptd_now()) where account_id = any ($1::uuid[])",
    [[...new Set(mismatches.map((mismatch) => mismatch.accountId))]],
  );
}
