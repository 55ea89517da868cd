import type { ManagedCredits } from "@promptd/contract/manage";
import { queryAnswer, queryAnswers } from "../platform/database/answers.ts";
import type { Database, Queryable } from "../platform/database/database.ts";
import { singleFamily, type Family } from "../platform/metrics/metrics.ts";
import { Problem } from "../platform/problem.ts";

export async function isFrozen(db: Database, accountId: string): Promise<boolean> {
  const text = "select credit_is_frozen($1) as frozen";
  const rows = await db.pipelined<{ frozen: boolean }>({ name: "credit_is_frozen", text }, [accountId]);
  return rows[0]?.frozen === true;
}

/** @returns false if it was already frozen; the first reason stays. */
export async function freezeAccount(db: Queryable, accountId: string, reason: string): Promise<boolean> {
  const rows = await db.query<{ frozen: boolean }>("select credit_freeze($1, $2) as frozen", [accountId, reason]);
  return rows[0]?.frozen === true;
}

export interface Unfreezing {
  readonly reason: string;
  /** True: accepts the current faults in the journal chain, which stay because the journal is append-only. */
  readonly acceptsJournal: boolean;
}

/** @returns false if it was not frozen. @throws Problem that names the faults that the audit still finds. */
export function unfreezeAccount(
  db: Database,
  accountId: string,
  { reason, acceptsJournal }: Unfreezing,
): Promise<boolean> {
  return db.tx(
    async (tx) => {
      const text = "select credit_unfreeze($1, $2, $3) as outcome";
      const rows = await tx.query<{ outcome: string }>(text, [accountId, reason, acceptsJournal]);
      if (rows[0]?.outcome !== "faults") return rows[0]?.outcome === "unfrozen";
      const faults = await tx.query<{ fault: string; detail: string }>(
        "select fault, detail from credit_audit where account_id = $1 order by fault, run_id",
        [accountId],
      );
      throw new Problem("VALIDATION_ERROR", stillFaulty(faults));
    },
    { statementTimeoutMs: 0 },
  );
}

function stillFaulty(faults: readonly { readonly fault: string; readonly detail: string }[]): string {
  const lines = faults.map(({ fault, detail }) => `  ${fault}: ${detail}`);
  return [
    "The account stays frozen, because its ledger does not add up:",
    ...lines,
    'Repair it first. The section "The ledger" in docs/operations.md says how to repair each fault.',
  ].join("\n");
}

/** Why the account is frozen now. */
const REASON = `(select f.reason from credit_freezes f where f.account_id = a.account_id and f.is_frozen
  and f.at >= a.frozen_at order by f.id desc limit 1)`;

export interface FrozenAccount extends NonNullable<ManagedCredits["frozen"]> {
  readonly accountId: string;
  /** Null for a deleted account. */
  readonly email: string | null;
}

/** Lists frozen accounts in the order of their ids. */
export function listFrozen(db: Queryable): Promise<FrozenAccount[]> {
  return queryAnswers(
    db,
    `select a.account_id as "accountId", o.email, a.frozen_at as since, ${REASON} as reason
     from credit_accounts a left join accounts o on o.id = a.account_id where a.frozen_at is not null order by a.account_id`,
  );
}

/** Finds what an account has. Expired credits are never available, whether written off yet or not. */
export async function findStanding(db: Queryable, accountId: string): Promise<ManagedCredits> {
  const standing = await queryAnswer<ManagedCredits>(
    db,
    `select a.posted, a.held, credits_available(a.account_id) as available, a.frozen_at as "frozen.since",
       ${REASON} as "frozen.reason"
     from credit_accounts a where a.account_id = $1`,
    [accountId],
  );
  return standing ?? { posted: 0, held: 0, available: 0, frozen: null };
}

/** Reads how many accounts are frozen, by their last freezes, which are few: balances have no index for it. */
export async function readCreditsMetrics(db: Queryable): Promise<Family[]> {
  const [row] = await db.query<{ frozen: number }>(
    `select count(*)::int as frozen from (
       select distinct on (account_id) is_frozen from credit_freezes order by account_id, id desc) last
     where is_frozen`,
  );
  const frozen = {
    name: "promptd_installation_frozen_accounts",
    help: "Frozen accounts of the installation, whose ledger does not add up or which an operator froze.",
  };
  return [singleFamily(frozen, row?.frozen ?? 0)];
}
