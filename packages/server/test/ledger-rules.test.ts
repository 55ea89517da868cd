/** The ledger's functions, row for row, on a stopped clock; and two transactions that meet, one step at a time. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Tx } from "../src/platform/database.ts";
import { openEngine, stopClock, type Engine } from "./engine-fixture.ts";
import { until } from "./promptd-process.ts";

const NOW_US = 1_800_000_000_000_000;
let engine: Engine;
let account: string;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());
beforeEach(async () => {
  await stopClock(engine.db, NOW_US);
  account = await engine.createAccount();
});

/** SQL for a time, in microseconds after the stopped clock's. */
const at = (us: number) => `timestamptz 'epoch' + ${NOW_US + us} * interval '1 microsecond'`;

async function value(expression: string): Promise<unknown> {
  const [row] = await engine.db.query<{ value: unknown }>(`select ${expression} as value`);
  return row?.value;
}
async function grant(amount: number, idem: string, expires: number | null = null, to = account): Promise<string> {
  const end = expires === null ? "null" : at(expires);
  return (await value(`(select outcome from credit_grant('${to}', ${amount}, '${idem}', 'me', ${end}))`)) as string;
}
const hold = (runId: string, amount: number, of = account) => value(`credit_hold('${of}', '${runId}', ${amount})`);
const settle = (accounts: readonly string[], runs: readonly string[], credits: readonly number[]) =>
  engine.db.query("select credit_settle($1, $2, $3)", [accounts, runs, credits]);

async function balanceOf(of = account): Promise<[number, number] | null> {
  const [row] = await engine.db.query<{ posted: number; held: number }>(
    "select posted, held from credit_accounts where account_id = $1",
    [of],
  );
  return row === undefined ? null : [row.posted, row.held];
}
async function grantsOf(of = account): Promise<number[]> {
  const rows = await engine.db.query<{ remaining: number }>(
    "select remaining from credit_grants where account_id = $1 order by expires_at, grant_id",
    [of],
  );
  return rows.map((row) => row.remaining);
}
/** [kind, debit, credit, amount, posted after, held after] of each row of the journal. */
async function journalOf(of = account): Promise<unknown[][]> {
  const rows = await engine.db.query<{ row: unknown[] }>(
    `select json_build_array(kind, debit, credit, amount, posted_after, held_after) as row
     from credit_transfers where account_id = $1 order by id`,
    [of],
  );
  return rows.map(({ row }) => row);
}
const GRANT = ["grant", "system:issued", "user:available"];
const HOLD = ["hold", "user:available", "user:held"];
const CAPTURE = ["capture", "user:held", "system:revenue"];
const RELEASE = ["release", "user:held", "user:available"];
const EXPIRE = ["expire", "user:available", "system:expired"];

describe("a grant", () => {
  test("is one row of the journal, and a part that expires when it says so", async () => {
    expect([await grant(5, "a"), await grant(7, "b", 10)]).toEqual(["granted", "granted"]);
    expect(await journalOf()).toEqual([
      [...GRANT, 5, 5, 0],
      [...GRANT, 7, 12, 0],
    ]);
    expect([await balanceOf(), await grantsOf()]).toEqual([[12, 0], [7]]);
  });

  test("under a used key repeats, or conflicts when it differs, and is free for another account", async () => {
    const other = await engine.createAccount();
    await grant(5, "a", 10);
    expect(await grant(5, "a", 10)).toBe("repeated");
    expect([await grant(6, "a", 10), await grant(5, "a", 11), await grant(5, "a")]).toEqual(Array(3).fill("conflict"));
    expect(await grant(5, "a", null, other)).toBe("granted");
    expect([await balanceOf(), await balanceOf(other)]).toEqual([
      [5, 0],
      [5, 0],
    ]);
  });

  test("names the earlier use of its key", async () => {
    await grant(5, "a", 10);
    const used = await value(`(select row_to_json(g) from credit_grant('${account}', 6, 'a', 'me', null) g)`);
    expect(used).toMatchObject({ outcome: "conflict", used_amount: 5 });
  });

  test("first writes off what has expired", async () => {
    await grant(4, "a", 1);
    await stopClock(engine.db, NOW_US + 1);
    await grant(3, "b");
    expect((await journalOf()).slice(1)).toEqual([
      [...EXPIRE, 4, 0, 0],
      [...GRANT, 3, 3, 0],
    ]);
  });
});

describe("expired credits", () => {
  test("are those of this account whose time has come, less what is held", async () => {
    const other = await engine.createAccount();
    await grant(4, "a", 0);
    await engine.db.query("delete from credit_grants where account_id = $1", [account]);
    await engine.db.query(
      `insert into credit_grants (account_id, remaining, expires_at)
       values ($1, 4, ${at(0)}), ($1, 1, ${at(-1)}), ($1, 8, ${at(1)}), ($2, 16, ${at(0)})`,
      [account, other],
    );
    const expired = (held: number) => value(`credit_expired('${account}', ${held}, ${at(0)})`);
    expect([await expired(0), await expired(1), await expired(5), await expired(6)]).toEqual([5, 4, 0, 0]);
    expect(await value(`credit_expired('${await engine.createAccount()}', 0, ${at(0)})`)).toBe(0);
  });

  test("are written off once, and nothing else is", async () => {
    await grant(4, "a", 1);
    await grant(3, "b", 2);
    await grant(2, "c");
    await stopClock(engine.db, NOW_US + 1);
    const other = await engine.createAccount();
    await grant(9, "a", 5, other);
    const expire = () => value(`credit_expire('${account}')`);
    expect([await expire(), await expire()]).toEqual([4, 0]);
    expect((await journalOf()).slice(3)).toEqual([[...EXPIRE, 4, 5, 0]]);
    expect([await balanceOf(), await grantsOf(), await grantsOf(other)]).toEqual([[5, 0], [0, 3], [9]]);
    expect(await value(`credit_expire('${crypto.randomUUID()}')`)).toBe(0);
  });

  test("that are held stay, and the row says what is held", async () => {
    await grant(4, "a", 1);
    await hold(engine.newId(), 3);
    await stopClock(engine.db, NOW_US + 1);
    expect(await value(`credit_expire('${account}')`)).toBe(1);
    expect((await journalOf()).at(-1)).toEqual([...EXPIRE, 1, 3, 3]);
  });

  test("are not available, written off or not", async () => {
    const available = (of = account) => value(`credits_available('${of}')`);
    await grant(4, "a", 1);
    await grant(5, "b");
    await hold(engine.newId(), 2);
    expect(await available()).toBe(7);
    await stopClock(engine.db, NOW_US + 1);
    expect(await available()).toBe(5);
    await value(`credit_expire('${account}')`);
    expect(await available()).toBe(5);
    expect(await available(crypto.randomUUID())).toBe(0);
  });
});

test("grants are spent earliest expiry first, among equals the earlier one, and no other account's", async () => {
  const other = await engine.createAccount();
  await grant(16, "x", 1, other);
  await grant(5, "late", 30);
  await grant(3, "a", 10);
  await grant(4, "b", 10);
  const spend = (amount: number) => value(`credit_grants_spend('${account}', ${amount})::text`);
  await spend(0);
  expect(await grantsOf()).toEqual([3, 4, 5]);
  await spend(2);
  expect(await grantsOf()).toEqual([1, 4, 5]);
  await spend(4);
  expect(await grantsOf()).toEqual([0, 1, 5]);
  await spend(100);
  expect([await grantsOf(), await grantsOf(other)]).toEqual([[0, 0, 0], [16]]);
});

describe("a hold", () => {
  test("takes the last credit and not one more, of this account alone", async () => {
    const other = await engine.createAccount();
    await grant(5, "a");
    await grant(50, "a", null, other);
    expect([await hold(engine.newId(), 3), await hold(engine.newId(), 3)]).toEqual([true, false]);
    expect(await hold(engine.newId(), 2)).toBe(true);
    expect((await journalOf()).slice(1)).toEqual([
      [...HOLD, 3, 5, 3],
      [...HOLD, 2, 5, 5],
    ]);
    expect([await balanceOf(), await balanceOf(other)]).toEqual([
      [5, 5],
      [50, 0],
    ]);
    expect(await value(`(select sum(amount)::int from credit_holds where account_id = '${account}')`)).toBe(5);
  });

  test("is refused to a frozen account and to one without a balance", async () => {
    expect(await hold(engine.newId(), 1)).toBe(false);
    await grant(5, "a");
    await engine.db.query("update credit_accounts set frozen_at = now() where account_id = $1", [account]);
    expect(await hold(engine.newId(), 1)).toBe(false);
    expect(await balanceOf()).toEqual([5, 0]);
  });

  test("cannot take credits at the moment of their expiry, and can the moment before", async () => {
    await grant(5, "a", 1);
    expect(await hold(engine.newId(), 1)).toBe(true);
    await stopClock(engine.db, NOW_US + 1);
    expect(await hold(engine.newId(), 1)).toBe(false);
    expect((await journalOf()).at(-1)).toEqual([...EXPIRE, 4, 1, 1]);
  });
});

describe("settling", () => {
  test("captures what each run costs, gives the rest back, and keeps the journal's balances exact", async () => {
    const other = await engine.createAccount();
    const runs = Array.from({ length: 4 }, () => engine.newId());
    const [r1 = "", r2 = "", r3 = "", r4 = ""] = runs;
    await grant(100, "a", 10);
    await grant(100, "a", 10, other);
    for (const run of runs) await hold(run, 10);
    await hold(r1, 20, other); // the same id in another account is another run
    await settle([account, account, account], [r3, r1, r2], [0, 4, 25]);
    expect((await journalOf()).slice(5)).toEqual([
      [...CAPTURE, 4, 96, 36],
      [...RELEASE, 6, 96, 30],
      [...CAPTURE, 10, 86, 20],
      [...RELEASE, 10, 86, 10],
    ]);
    expect([await balanceOf(), await grantsOf()]).toEqual([[86, 10], [86]]);
    expect([await balanceOf(other), await grantsOf(other)]).toEqual([[100, 20], [100]]);
    const states = await engine.db.query(
      "select state, captured from credit_holds where account_id = $1 order by run_id",
      [account],
    );
    expect(states).toEqual([
      { state: "captured", captured: 4 },
      { state: "captured", captured: 10 },
      { state: "released", captured: 0 },
      { state: "held", captured: null },
    ]);
    await settle([account, account], [r1, r4], [10, 10]); // r1 is settled already
    expect(await balanceOf()).toEqual([76, 0]);
  });

  test("several accounts at once charges each its own", async () => {
    const other = await engine.createAccount();
    const [mine, theirs] = [engine.newId(), engine.newId()];
    await grant(10, "a", 10);
    await grant(10, "a", 10, other);
    await hold(mine, 5);
    await hold(theirs, 7, other);
    await settle([account, other], [mine, theirs], [5, 6]);
    expect([await balanceOf(), await balanceOf(other)]).toEqual([
      [5, 0],
      [4, 0],
    ]);
    expect([await grantsOf(), await grantsOf(other)]).toEqual([[5], [4]]);
    expect((await journalOf()).at(-1)).toEqual([...CAPTURE, 5, 5, 0]);
    expect((await journalOf(other)).slice(2)).toEqual([
      [...CAPTURE, 6, 4, 1],
      [...RELEASE, 1, 4, 0],
    ]);
  });
});

describe("the end of a run", () => {
  const end = (runIds: readonly string[], ok: boolean, credits: number) =>
    engine.db.query<{ id: string }>(
      `select run_settle(array_fill($1::uuid, array[n]), $2::uuid[], array_fill($3::boolean, array[n]),
         array_fill($4::bigint, array[n]), array_fill('["out"]'::json, array[n]), array_fill('why'::text, array[n])) as id
       from cardinality($2::uuid[]) n`,
      [account, runIds, ok, credits],
    );
  const shown = async (runId: string) => {
    const { status, credits, worker, outputs, fail_reason } = await engine.stateOf(runId);
    return { status, credits, worker, outputs, fail_reason };
  };
  const left = { worker: null, outputs: ["out"], fail_reason: "why" };

  test("writes state, outputs, reason and credits, once", async () => {
    await grant(100, "a");
    const [good, dear, negative, bad, free] = [
      await engine.createRun(account, { hold: 10 }),
      await engine.createRun(account, { hold: 10 }),
      await engine.createRun(account, { hold: 10 }),
      await engine.createRun(account, { hold: 10 }),
      await engine.createRun(account),
    ];
    expect(await end([good], true, 4)).toEqual([{ id: good }]);
    expect(await end([good], false, 9)).toEqual([]);
    await end([dear], true, 11);
    await end([negative], true, -1);
    await end([bad], false, 4);
    await end([free], true, 4);
    expect(await Promise.all([good, dear, negative, bad, free].map(shown))).toEqual([
      { status: "succeeded", credits: 4, ...left },
      { status: "succeeded", credits: 10, ...left },
      { status: "succeeded", credits: 0, ...left },
      { status: "failed", credits: 0, ...left },
      { status: "succeeded", credits: null, ...left },
    ]);
    expect(await balanceOf()).toEqual([86, 0]);
    expect(await engine.db.query("select fault from credit_audit where account_id = $1", [account])).toEqual([]);
  });

  test("of one run touches no other, and drops only its own delivered items", async () => {
    const other = await engine.createAccount();
    const [runId, beside] = [await engine.createRun(account), await engine.createRun(account)];
    const twin = await engine.createRun(other, { runId });
    for (const [owner, id] of [
      [account, runId],
      [account, beside],
      [other, twin],
    ]) {
      await engine.db.query("insert into run_steps values ($1, $2, 0, 0, '{}')", [owner, id]);
    }
    await end([runId], true, 1);
    const open = await engine.db.query<{ account_id: string; id: string }>(
      "select account_id, id from runs where finished_at is null and account_id in ($1, $2) order by id, account_id",
      [account, other],
    );
    const expected = [
      { account_id: other, id: runId },
      { account_id: account, id: beside },
    ];
    expect(open).toEqual(expected);
    const steps = await engine.db.query(
      "select account_id, run_id as id from run_steps where account_id in ($1, $2) order by run_id, account_id",
      [account, other],
    );
    expect(steps).toEqual(expected);
  });
});

describe("two transactions that meet", () => {
  /** Runs `first` and leaves it open, lets `second` begin and wait for it, and only then commits. */
  async function meet<Result>(first: (tx: Tx) => Promise<unknown>, second: () => Promise<Result>): Promise<Result> {
    let waiting: Promise<Result> | null = null;
    await engine.db.tx(async (tx) => {
      await first(tx);
      waiting = second();
      waiting.catch(() => {}); // heard below
      await until(async () => (await engine.db.query(BLOCKED)).length === 1);
    });
    if (waiting === null) throw new Error("the second one never began");
    return waiting;
  }
  const BLOCKED = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

  test("expire the same credits once", async () => {
    await grant(4, "a", 1);
    await grant(9, "b");
    await stopClock(engine.db, NOW_US + 1);
    const expire = `select credit_expire('${account}')::int as amount`;
    const second = await meet(
      (tx) => tx.query(expire),
      () => engine.db.query(expire),
    );
    expect(second).toEqual([{ amount: 0 }]);
    expect([await balanceOf(), (await journalOf()).slice(2)]).toEqual([[9, 0], [[...EXPIRE, 4, 9, 0]]]);
  });

  test("expire what a hold that was given back meanwhile no longer keeps", async () => {
    await grant(4, "a", 1);
    const run = engine.newId();
    await hold(run, 3);
    await stopClock(engine.db, NOW_US + 1);
    const second = await meet(
      (tx) => tx.query("select credit_settle($1, $2, $3)", [[account], [run], [0]]),
      () => engine.db.query(`select credit_expire('${account}')::int as amount`),
    );
    expect(second).toEqual([{ amount: 4 }]);
  });

  test("grant once under one key, also when the first has not touched the balance yet", async () => {
    await grant(1, "first");
    const second = await meet(
      async (tx) => {
        await tx.query("select 1 from credit_accounts where account_id = $1 for update", [account]);
        await tx.query(
          `insert into credit_transfers (account_id, kind, debit, credit, amount, idem, posted_after, held_after)
           values ($1, 'grant', 'system:issued', 'user:available', 5, 'k', 6, 0)`,
          [account],
        );
      },
      () => engine.db.query(`select outcome from credit_grant('${account}', 5, 'k', 'me', null)`),
    );
    expect(second).toEqual([{ outcome: "repeated" }]);
  });

  test("of different accounts wait for each other nowhere", async () => {
    const other = await engine.createAccount(5);
    await grant(9, "a");
    const run = engine.newId();
    await hold(run, 4);
    await engine.db.tx(async (tx) => {
      await tx.query("select 1 from credit_accounts where account_id = $1 for update", [other]);
      await grant(1, "b");
      await settle([account], [run], [4]);
    });
    expect(await balanceOf()).toEqual([6, 0]);
  });

  test("hold the last credits once", async () => {
    await grant(5, "a");
    const second = await meet(
      (tx) => tx.query("select credit_hold($1, $2, 4)", [account, engine.newId()]),
      () => hold(engine.newId(), 4),
    );
    expect(second).toBe(false);
  });

  test("settle one run once, and both end with exact balances", async () => {
    await grant(50, "a");
    const [one, other] = [engine.newId(), engine.newId()];
    await hold(one, 10);
    await hold(other, 10);
    await meet(
      (tx) => tx.query("select credit_settle($1, $2, $3)", [[account], [one], [4]]),
      () => settle([account, account], [one, other], [9, 5]),
    );
    expect(await balanceOf()).toEqual([41, 0]);
    expect((await journalOf()).slice(-2)).toEqual([
      [...CAPTURE, 5, 41, 5],
      [...RELEASE, 5, 41, 0],
    ]);
  });

  test.each([
    ["credit_holds", "holds"],
    ["credit_accounts", "balances"],
  ])("never hold later rows of %s while they wait for an earlier one: %s are locked in id order", async (table) => {
    const accounts = await Promise.all(Array.from({ length: 12 }, () => engine.createAccount()));
    const runs = accounts.map(() => engine.newId());
    const order = accounts.map((_, i) => i).toSorted((i, j) => ((accounts[i] ?? "") < (accounts[j] ?? "") ? 1 : -1));
    // Written last to first: whoever takes the rows as they lie, or as they are named, comes to the earliest one last.
    for (const i of order) await grant(20, "a", null, accounts[i]);
    for (const i of order) await hold(runs[i] ?? "", 10, accounts[i]);
    const first = accounts.toSorted()[0];
    const later = `select 1 from ${table} where account_id = any ($1) and account_id <> $2 for update nowait`;
    const pick = <Item>(items: readonly Item[]) => order.map((i) => items[i] as Item);
    const settling: Promise<unknown>[] = [];
    await engine.db.tx(async (tx) => {
      await tx.query(`select 1 from ${table} where account_id = $1 for update`, [first]);
      settling.push(
        settle(
          pick(accounts),
          pick(runs),
          runs.map(() => 1),
        ),
      );
      await until(async () => (await engine.db.query(BLOCKED)).length === 1);
      expect(await engine.db.query(later, [accounts, first])).toHaveLength(11);
    });
    await Promise.all(settling);
  });
});
