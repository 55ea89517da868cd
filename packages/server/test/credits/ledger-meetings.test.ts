/** Two concurrent ledger transactions, one step at a time: both end, and the balances are exact. */
import { describe, expect, test } from "vitest";
import type { Tx } from "../../src/platform/database/database.ts";
import { stopClock } from "../runs/engine-fixture.ts";
import { CAPTURE, EXPIRE, NOW_US, RELEASE, useLedger } from "./ledger-fixture.ts";
import { until } from "../support/promptd-process.ts";

const { rig, grant, hold, settle, balanceOf, keptOf, journalOf } = useLedger();

/** Runs `first` and leaves it open, lets `second` start and wait for it, and only then commits. */
async function meet<Result>(first: (tx: Tx) => Promise<unknown>, second: () => Promise<Result>): Promise<Result> {
  let waiting: Promise<Result> | null = null;
  await rig.engine.db.tx(async (tx) => {
    await first(tx);
    waiting = second();
    waiting.catch(() => {}); // awaited below
    await until(async () => (await rig.engine.db.query(BLOCKED)).length === 1);
  });
  if (waiting === null) throw new Error("the second one never began");
  return waiting;
}
const BLOCKED = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

describe("two transactions that meet", () => {
  test("expire the same credits once", async () => {
    await grant(4, "a", 1);
    await grant(9, "b");
    await stopClock(rig.engine.db, NOW_US + 1);
    const expire = `select credit_expire('${rig.account}')::int as amount`;
    const second = await meet(
      (tx) => tx.query(expire),
      () => rig.engine.db.query(expire),
    );
    expect(second).toEqual([{ amount: 0 }]);
    expect([await balanceOf(), (await journalOf()).slice(2)]).toEqual([[9, 0], [[...EXPIRE, 4, 9, 0]]]);
  });

  test("that backed a released hold expire before another run can hold them", async () => {
    await grant(4, "a", 1);
    const run = rig.engine.newId();
    await hold(run, 3);
    await stopClock(rig.engine.db, NOW_US + 1);
    const second = await meet(
      (tx) => tx.query("select credit_settle($1, $2, $3)", [[rig.account], [run], [0]]),
      () => hold(rig.engine.newId(), 1),
    );
    expect(second).toBe(false);
    expect([await balanceOf(), (await journalOf()).slice(2)]).toEqual([
      [0, 0],
      [
        [...EXPIRE, 1, 3, 3],
        [...RELEASE, 3, 3, 0],
        [...EXPIRE, 3, 0, 0],
      ],
    ]);
  });

  test("expire and settle next to each other: an expiry does not touch the holds that a settle has locked", async () => {
    await grant(4, "a", 1);
    await grant(9, "b");
    const run = rig.engine.newId();
    await hold(run, 3);
    await stopClock(rig.engine.db, NOW_US + 1);
    const settled = await rig.engine.db.tx(async (tx) => {
      await tx.query("select 1 from credit_accounts where account_id = $1 for update", [rig.account]);
      const waiting = settle([rig.account], [run], [2]);
      waiting.catch(() => {}); // awaited below
      await until(async () => (await rig.engine.db.query(BLOCKED)).length === 1);
      await tx.query("select credit_expire($1)", [rig.account]);
      return { waiting };
    });
    await settled.waiting;
    expect([await balanceOf(), await keptOf(), (await journalOf()).slice(3)]).toEqual([
      [9, 0],
      [],
      [
        [...EXPIRE, 1, 12, 3],
        [...CAPTURE, 2, 10, 1],
        [...RELEASE, 1, 10, 0],
        [...EXPIRE, 1, 9, 0],
      ],
    ]);
  });

  test("hold nothing from a grant that expired before its transaction was over", async () => {
    await grant(1, "first");
    const second = await meet(
      async (tx) => {
        await tx.query("select credit_grant($1, 4, 'k', 'me', promptd_now() + interval '1 microsecond')", [
          rig.account,
        ]);
        await stopClock(rig.engine.db, NOW_US + 1);
      },
      () => hold(rig.engine.newId(), 5),
    );
    expect(second).toBe(false);
    expect(await hold(rig.engine.newId(), 1)).toBe(true);
  });

  test("grant once under one key, even if the first has not touched the balance yet", async () => {
    await grant(1, "first");
    const second = await meet(
      async (tx) => {
        await tx.query("select 1 from credit_accounts where account_id = $1 for update", [rig.account]);
        await tx.query(
          `insert into credit_transfers (account_id, kind, debit, credit, amount, idem, posted_after, held_after)
           values ($1, 'grant', 'system:issued', 'user:available', 5, 'k', 6, 0)`,
          [rig.account],
        );
      },
      () => rig.engine.db.query(`select outcome from credit_grant('${rig.account}', 5, 'k', 'me', null)`),
    );
    expect(second).toEqual([{ outcome: "repeated" }]);
  });

  test("of different accounts never wait for each other", async () => {
    const other = await rig.engine.createAccount(5);
    await grant(9, "a");
    const run = rig.engine.newId();
    await hold(run, 4);
    await rig.engine.db.tx(async (tx) => {
      await tx.query("select 1 from credit_accounts where account_id = $1 for update", [other]);
      await grant(1, "b");
      await settle([rig.account], [run], [4]);
      await rig.engine.db.query(`select credit_adjust('${rig.account}', 2, 'me')`);
    });
    expect(await balanceOf()).toEqual([8, 0]);
  });

  test("find which runs can be settled without waiting, and lock only what belongs to those runs", async () => {
    const [other, third] = [await rig.engine.createAccount(5), await rig.engine.createAccount(5)];
    await grant(9, "a");
    const runs = [rig.engine.newId(), rig.engine.newId(), rig.engine.newId()];
    for (const run of runs) await hold(run, 1);
    const [locked = "", done = "", free = ""] = runs;
    await settle([rig.account], [done], [1]); // its hold is closed, so a lock on it does not matter
    const tryLock = "select id from credit_try_lock($1, $2) id order by id";
    const values = [
      [rig.account, rig.account, rig.account, other],
      [locked, done, free, rig.engine.newId()],
    ];
    const { db } = rig.engine;
    await db.tx(async (tx) => {
      await tx.query("select 1 from credit_holds where run_id = any ($1::uuid[]) for update", [[locked, done]]);
      await tx.query("select 1 from credit_accounts where account_id = $1 for update", [other]);
      expect(await db.query(tryLock, values)).toEqual(
        [{ id: done }, { id: free }].sort((a, b) => (a.id < b.id ? -1 : 1)),
      );
    });
    await db.tx(async (tx) => {
      await tx.query(tryLock, values);
      // Another account, and the open hold of another run, are not locked.
      await db.tx((later) =>
        later.query("select 1 from credit_accounts where account_id = $1 for update nowait", [third]),
      );
      await expect(
        db.query("select 1 from credit_accounts where account_id = $1 for update nowait", [other]),
      ).rejects.toMatchObject({ code: "55P03" });
      await expect(
        db.query("select 1 from credit_holds where run_id = $1 for update nowait", [free]),
      ).rejects.toMatchObject({ code: "55P03" });
    });
    await db.tx(async (tx) => {
      await tx.query(tryLock, [[rig.account], [free]]);
      expect(
        await db.query("select 1 as free from credit_holds where run_id = $1 for update nowait", [locked]),
      ).toEqual([{ free: 1 }]);
    });
  });

  test("hold the last credits once", async () => {
    await grant(5, "a");
    const second = await meet(
      (tx) => tx.query("select credit_hold_for($1, $2, 4, null, null, null, null)", [rig.account, rig.engine.newId()]),
      () => hold(rig.engine.newId(), 4),
    );
    expect(second).toBe(false);
  });

  test("settle one run once, and both end with exact balances", async () => {
    await grant(50, "a");
    const [one, other] = [rig.engine.newId(), rig.engine.newId()];
    await hold(one, 10);
    await hold(other, 10);
    await meet(
      (tx) => tx.query("select credit_settle($1, $2, $3)", [[rig.account], [one], [4]]),
      () => settle([rig.account, rig.account], [one, other], [9, 5]),
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
    const accounts = await Promise.all(Array.from({ length: 12 }, () => rig.engine.createAccount()));
    const runs = accounts.map(() => rig.engine.newId());
    const order = accounts.map((_, i) => i).toSorted((i, j) => ((accounts[i] ?? "") < (accounts[j] ?? "") ? 1 : -1));
    // Written last to first: a settlement in the order of the rows, or of the arguments, would reach the earliest one last.
    for (const i of order) await grant(20, "a", null, accounts[i]);
    for (const i of order) await hold(runs[i] ?? "", 10, accounts[i]);
    const first = accounts.toSorted()[0];
    const later = `select 1 from ${table} where account_id = any ($1) and account_id <> $2 for update nowait`;
    const pick = <Item>(items: readonly Item[]) => order.map((i) => items[i] as Item);
    const settling: Promise<unknown>[] = [];
    await rig.engine.db.tx(async (tx) => {
      await tx.query(`select 1 from ${table} where account_id = $1 for update`, [first]);
      settling.push(
        settle(
          pick(accounts),
          pick(runs),
          runs.map(() => 1),
        ),
      );
      await until(async () => (await rig.engine.db.query(BLOCKED)).length === 1);
      expect(await rig.engine.db.query(later, [accounts, first])).toHaveLength(11);
    });
    await Promise.all(settling);
  });
});

test("an account that two operators unfreeze at once is unfrozen by one of them", async () => {
  await rig.engine.db.query("select credit_freeze($1, 'a test') from credit_grant($1, 1, 'a', 'me', null)", [
    rig.account,
  ]);
  const unfreeze = `select credit_unfreeze('${rig.account}', 'checked', false) as outcome`;
  const second = await meet(
    (tx) => tx.query(unfreeze),
    () => rig.engine.db.query(unfreeze),
  );
  expect(second).toEqual([{ outcome: "not_frozen" }]);
  const written = "select is_frozen, reason from credit_freezes where account_id = $1 order by id";
  expect(await rig.engine.db.query(written, [rig.account])).toEqual([
    { is_frozen: true, reason: "a test" },
    { is_frozen: false, reason: "checked" },
  ]);
});

describe("adjustments and earnings that meet", () => {
  test("adjust one after the other: the second starts from what the first has written", async () => {
    await grant(10, "a");
    const adjust = (amount: number) => `select (credit_adjust('${rig.account}', ${amount}, 'me')).outcome`;
    const second = await meet(
      (tx) => tx.query(adjust(-4)),
      () => rig.engine.db.query(adjust(-7)),
    );
    expect([second, await balanceOf()]).toEqual([[{ outcome: "too_low" }], [6, 0]]);
    await meet(
      (tx) => tx.query(adjust(5)),
      () => rig.engine.db.query(adjust(2)),
    );
    const chain = "select fault from credit_audit where account_id = $1";
    expect([await balanceOf(), await rig.engine.db.query(chain, [rig.account])]).toEqual([[13, 0], []]);
  });

  test("adjust and hold: the adjustment sees the hold that it has waited for", async () => {
    await grant(10, "a");
    const second = await meet(
      (tx) => tx.query("select credit_hold_for($1, $2, 6, null, null, null, null)", [rig.account, rig.engine.newId()]),
      () => rig.engine.db.query(`select (credit_adjust('${rig.account}', -5, 'me')).outcome`),
    );
    expect([second, await balanceOf()]).toEqual([[{ outcome: "too_low" }], [10, 6]]);
  });

  test("adjust and hold: the adjustment reads nothing before it has the lock of the account", async () => {
    await grant(10, "a");
    const adjusted = await rig.engine.db.tx(async (tx) => {
      await tx.query("select 1 from credit_accounts where account_id = $1 for update", [rig.account]);
      const waiting = rig.engine.db.query(`select (credit_adjust('${rig.account}', -5, 'me')).outcome`);
      waiting.catch(() => {}); // awaited below
      await until(async () => (await rig.engine.db.query(BLOCKED)).length === 1);
      await tx.query("select credit_hold_for($1, $2, 6, null, null, null, null)", [rig.account, rig.engine.newId()]);
      return { waiting };
    });
    expect([await adjusted.waiting, await balanceOf()]).toEqual([[{ outcome: "too_low" }], [10, 6]]);
  });

  test("collect the same earnings once", async () => {
    const author = await rig.engine.createAccount();
    const book = "insert into credit_earnings (account_id, run_id, author_id, hundredths) values ($1, $2, $3, 250)";
    for (const run of [rig.engine.newId(), rig.engine.newId()])
      await rig.engine.db.query(book, [rig.account, run, author]);
    const collect = `select credit_collect('${author}') as bookings`;
    const second = await meet(
      (tx) => tx.query(collect),
      () => rig.engine.db.query(collect),
    );
    expect([second, await balanceOf(author)]).toEqual([[{ bookings: 0 }], [5, 0]]);
    const faults = "select fault from credit_audit where account_id = $1";
    expect(await rig.engine.db.query(faults, [author])).toEqual([]);
  });

  test("hold what is being collected, even by an account that had no balance before", async () => {
    const author = await rig.engine.createAccount();
    const book = "insert into credit_earnings (account_id, run_id, author_id, hundredths) values ($1, $2, $3, 250)";
    await rig.engine.db.query(book, [rig.account, rig.engine.newId(), author]);
    const second = await meet(
      (tx) => tx.query("select credit_collect($1)", [author]),
      () => hold(rig.engine.newId(), 2, author),
    );
    expect([second, await balanceOf(author)]).toEqual([true, [2, 2]]);
  });

  test("settle a run of an author whose balance is locked without waiting for it", async () => {
    const author = await rig.engine.createAccount(5);
    const run = rig.engine.newId();
    await grant(10, "a");
    await rig.engine.db.query("select credit_hold_for($1, $2, 4, null, null, $3, 50)", [rig.account, run, author]);
    await rig.engine.db.tx(async (tx) => {
      await tx.query("select 1 from credit_accounts where account_id = $1 for update", [author]);
      await settle([rig.account], [run], [4]);
    });
    expect(await balanceOf()).toEqual([6, 0]);
  });
});
