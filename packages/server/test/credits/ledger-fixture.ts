/** The ledger's functions on a stopped clock, for one account per test, and its rows as short lists. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { openEngine, stopClock, type Engine } from "../runs/engine-fixture.ts";

export const NOW_US = 1_800_000_000_000_000;

/** SQL for a time, in microseconds after the stopped clock. */
export const at = (us: number) => `timestamptz 'epoch' + ${NOW_US + us} * interval '1 microsecond'`;

export interface LedgerRig {
  engine: Engine;
  account: string;
}

export function useLedger() {
  const rig = {} as LedgerRig;
  beforeAll(async () => {
    rig.engine = await openEngine();
  });
  afterAll(() => rig.engine.close());
  beforeEach(async () => {
    await stopClock(rig.engine.db, NOW_US);
    rig.account = await rig.engine.createAccount();
  });
  return { rig, ...ledgerOf(rig) };
}

/** The functions and tables, for the test's account unless another is named. */
function ledgerOf(rig: LedgerRig) {
  const value = async (expression: string): Promise<unknown> => {
    const [row] = await rig.engine.db.query<{ value: unknown }>(`select ${expression} as value`);
    return row?.value;
  };
  const list = async <Row>(text: string, of: string): Promise<Row[]> => rig.engine.db.query<Row & object>(text, [of]);
  return {
    value,
    grant: (amount: number, idem: string, expires: number | null = null, to = rig.account) => {
      const end = expires === null ? "null" : at(expires);
      return value(`(select outcome from credit_grant('${to}', ${amount}, '${idem}', 'me', ${end}))`);
    },
    hold: (runId: string, amount: number, of = rig.account) =>
      value(`credit_hold_for('${of}', '${runId}', ${amount}, null, null, null, null)`),
    settle: (accounts: readonly string[], runs: readonly string[], credits: readonly number[]) =>
      rig.engine.db.query("select credit_settle($1, $2, $3)", [accounts, runs, credits]),
    balanceOf: async (of = rig.account): Promise<[number, number] | null> => {
      const text = "select posted, held from credit_accounts where account_id = $1";
      const [row] = await list<{ posted: number; held: number }>(text, of);
      return row === undefined ? null : [row.posted, row.held];
    },
    grantsOf: async (of = rig.account): Promise<number[]> => {
      const text = "select remaining from credit_grants where account_id = $1 order by expires_at, grant_id";
      return (await list<{ remaining: number }>(text, of)).map((row) => row.remaining);
    },
    /** The expired credits that back each open hold, in run order. */
    keptOf: async (of = rig.account): Promise<number[]> => {
      const text = "select amount from credit_expired_backing where account_id = $1 order by run_id";
      return (await list<{ amount: number }>(text, of)).map((row) => row.amount);
    },
    /** [kind, debit, credit, amount, posted after, held after] of each row of the journal. */
    journalOf: async (of = rig.account): Promise<unknown[][]> => {
      const text = `select json_build_array(kind, debit, credit, amount, posted_after, held_after) as row
        from credit_transfers where account_id = $1 order by id`;
      return (await list<{ row: unknown[] }>(text, of)).map(({ row }) => row);
    },
  };
}

export const GRANT = ["grant", "system:issued", "user:available"];
export const HOLD = ["hold", "user:available", "user:held"];
export const CAPTURE = ["capture", "user:held", "system:revenue"];
export const RELEASE = ["release", "user:held", "user:available"];
export const EXPIRE = ["expire", "user:available", "system:expired"];
