/** What a run does to the ledger, row by row: held when it is created, captured and released once when it ends. */
import { describe, expect, test } from "vitest";
import { stopClock } from "../runs/engine-fixture.ts";
import { CAPTURE, EXPIRE, HOLD, NOW_US, RELEASE, useLedger } from "./ledger-fixture.ts";

const { rig, value, grant, hold, settle, balanceOf, grantsOf, keptOf, journalOf } = useLedger();

describe("a hold", () => {
  test("takes the last credit and not one more, only from this account", async () => {
    const other = await rig.engine.createAccount();
    await grant(5, "a");
    await grant(50, "a", null, other);
    expect([await hold(rig.engine.newId(), 3), await hold(rig.engine.newId(), 3)]).toEqual([true, false]);
    expect(await hold(rig.engine.newId(), 2)).toBe(true);
    expect((await journalOf()).slice(1)).toEqual([
      [...HOLD, 3, 5, 3],
      [...HOLD, 2, 5, 5],
    ]);
    expect([await balanceOf(), await balanceOf(other)]).toEqual([
      [5, 5],
      [50, 0],
    ]);
    expect(await value(`(select sum(amount)::int from credit_holds where account_id = '${rig.account}')`)).toBe(5);
  });

  test("is refused for a frozen account and for an account without a balance", async () => {
    expect(await hold(rig.engine.newId(), 1)).toBe(false);
    await grant(5, "a");
    await rig.engine.db.query("update credit_accounts set frozen_at = now() where account_id = $1", [rig.account]);
    expect(await hold(rig.engine.newId(), 1)).toBe(false);
    expect(await balanceOf()).toEqual([5, 0]);
  });

  test("cannot take credits at the moment of their expiry, but can the moment before", async () => {
    await grant(5, "a", 1);
    expect(await hold(rig.engine.newId(), 1)).toBe(true);
    await stopClock(rig.engine.db, NOW_US + 1);
    expect(await hold(rig.engine.newId(), 1)).toBe(false);
    expect((await journalOf()).at(-1)).toEqual([...EXPIRE, 4, 1, 1]);
  });

  test("by a create sees a credit that expires at that very moment, and does not use expired credits", async () => {
    const other = await rig.engine.createAccount();
    await grant(1, "a", 1);
    await grant(4, "a", 1, other);
    await stopClock(rig.engine.db, NOW_US + 1);
    for (const [account, amount] of [
      [rig.account, 1],
      [other, 6],
    ] as const) {
      expect((await rig.engine.create(account, { hold: amount })).kind).toBe("no_credits");
      expect([await balanceOf(account), await grantsOf(account)]).toEqual([[0, 0], [0]]);
    }
  });
});

describe("settling", () => {
  test("captures what each run costs, releases the rest, and leaves the journal's balances exact", async () => {
    const other = await rig.engine.createAccount();
    const runs = Array.from({ length: 4 }, () => rig.engine.newId());
    const [r1 = "", r2 = "", r3 = "", r4 = ""] = runs;
    await grant(100, "a", 10);
    await grant(100, "a", 10, other);
    for (const run of runs) await hold(run, 10);
    await hold(r1, 20, other); // the same id in another account is another run
    await settle([rig.account, rig.account, rig.account], [r3, r1, r2], [0, 4, 25]);
    expect((await journalOf()).slice(5)).toEqual([
      [...CAPTURE, 4, 96, 36],
      [...RELEASE, 6, 96, 30],
      [...CAPTURE, 10, 86, 20],
      [...RELEASE, 10, 86, 10],
    ]);
    expect([await balanceOf(), await grantsOf()]).toEqual([[86, 10], [86]]);
    expect([await balanceOf(other), await grantsOf(other)]).toEqual([[100, 20], [100]]);
    const states = await rig.engine.db.query(
      "select state, captured from credit_holds where account_id = $1 order by run_id",
      [rig.account],
    );
    expect(states).toEqual([
      { state: "captured", captured: 4 },
      { state: "captured", captured: 10 },
      { state: "released", captured: 0 },
      { state: "held", captured: null },
    ]);
    await settle([rig.account, rig.account], [r1, r4], [10, 10]); // r1 is already settled
    expect(await balanceOf()).toEqual([76, 0]);
  });

  test("several accounts at once charges each for its own runs", async () => {
    const other = await rig.engine.createAccount();
    const [mine, theirs] = [rig.engine.newId(), rig.engine.newId()];
    await grant(10, "a", 10);
    await grant(10, "a", 10, other);
    await hold(mine, 5);
    await hold(theirs, 7, other);
    await settle([rig.account, other], [mine, theirs], [5, 6]);
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

test("a run that costs one credit also takes it from the grants, even if it is the last credit of the only grant", async () => {
  await rig.engine.db.query("delete from credit_grants"); // from other tests
  await grant(2, "a", 10);
  for (const left of [1, 0]) {
    const run = rig.engine.newId();
    await hold(run, left + 1);
    await settle([rig.account], [run], [1]);
    expect([await balanceOf(), await grantsOf()]).toEqual([[left, 0], [left]]);
  }
});

describe("settling a hold that expired credits back", () => {
  test("leaves the backing of a run of the same id in another account", async () => {
    const other = await rig.engine.createAccount();
    const run = rig.engine.newId();
    for (const account of [rig.account, other]) {
      await grant(5, "a", 1, account);
      await hold(run, 5, account);
    }
    await stopClock(rig.engine.db, NOW_US + 1);
    await value(`credit_expire('${other}')::text`);
    await settle([rig.account], [run], [5]);
    expect([await keptOf(), await keptOf(other), await balanceOf(other)]).toEqual([[], [5], [5, 5]]);
  });

  test("pays with them first, and those it does not use expire at once", async () => {
    const other = await rig.engine.createAccount();
    const runs = Array.from({ length: 4 }, () => rig.engine.newId());
    const [r1 = "", r2 = "", r3 = "", r4 = ""] = runs;
    await grant(25, "a", 1);
    await grant(100, "b", 9);
    await grant(10, "a", 1, other);
    for (const run of runs) await hold(run, 10);
    await hold(r4, 10, other);
    await stopClock(rig.engine.db, NOW_US + 1);
    await settle([rig.account, rig.account, rig.account, other], [r3, r1, r2, r4], [8, 4, 0, 10]);
    expect((await journalOf()).slice(6)).toEqual([
      [...CAPTURE, 4, 121, 36],
      [...RELEASE, 6, 121, 30],
      [...RELEASE, 10, 121, 20],
      [...CAPTURE, 8, 113, 12],
      [...RELEASE, 2, 113, 10],
      [...EXPIRE, 16, 97, 10], // 10 + 10 + 5 backed the holds, 4 + 0 + 5 paid
    ]);
    expect([await grantsOf(), await keptOf(), await balanceOf()]).toEqual([[0, 97], [], [97, 10]]);
    expect((await journalOf(other)).slice(2)).toEqual([[...CAPTURE, 10, 0, 0]]);
    expect([await grantsOf(other), await keptOf(other), await balanceOf(other)]).toEqual([[0], [], [0, 0]]);
  });

  test("takes nothing from another account that is settled with it and has no backing", async () => {
    const other = await rig.engine.createAccount();
    const [mine, theirs] = [rig.engine.newId(), rig.engine.newId()];
    await grant(5, "a", 1);
    await grant(9, "a", 10, other);
    await hold(mine, 5);
    await hold(theirs, 5, other);
    await stopClock(rig.engine.db, NOW_US + 1);
    await settle([rig.account, other], [mine, theirs], [2, 4]);
    expect([await balanceOf(), await grantsOf(), await keptOf()]).toEqual([[0, 0], [0], []]);
    expect([await balanceOf(other), await grantsOf(other)]).toEqual([[5, 0], [5]]);
  });

  test.each([10, 1])("processes what expired meanwhile before it releases anything: %i", async (amount) => {
    const [first, second] = [rig.engine.newId(), rig.engine.newId()];
    const other = await rig.engine.createAccount();
    await grant(5, "a", 1, other);
    await grant(amount, "a", 1);
    await grant(20, "b");
    await hold(first, amount);
    await hold(second, 20);
    await stopClock(rig.engine.db, NOW_US + 1);
    await settle([rig.account], [first], [0]); // they belonged to it: the other hold cannot take them over
    expect((await journalOf()).slice(-2)).toEqual([
      [...RELEASE, amount, amount + 20, 20],
      [...EXPIRE, amount, 20, 20],
    ]);
    await settle([rig.account], [second], [20]);
    expect([await balanceOf(), await keptOf()]).toEqual([[0, 0], []]);
    expect([await balanceOf(other), await grantsOf(other)]).toEqual([[5, 0], [5]]); // what expired there is not its own
  });
});

describe("the end of a run", () => {
  const end = (runIds: readonly string[], ok: boolean, credits: number) =>
    rig.engine.db.query<{ id: string }>(
      `select run_settle(array_fill($1::uuid, array[n]), $2::uuid[], array_fill($3::boolean, array[n]),
         array_fill($4::bigint, array[n]), array_fill('["out"]'::json, array[n]), array_fill('why'::text, array[n])) as id
       from cardinality($2::uuid[]) n`,
      [rig.account, runIds, ok, credits],
    );
  const shown = async (runId: string) => {
    const { status, credits, worker, outputs, fail_reason } = await rig.engine.stateOf(runId);
    return { status, credits, worker, outputs, fail_reason };
  };
  const left = { worker: null, outputs: ["out"], fail_reason: "why" };

  test("writes state, outputs, reason, credits, and usage once", async () => {
    await grant(100, "a");
    const [good, dear, negative, bad, free] = [
      await rig.engine.createRun(rig.account, { hold: 10 }),
      await rig.engine.createRun(rig.account, { hold: 10 }),
      await rig.engine.createRun(rig.account, { hold: 10 }),
      await rig.engine.createRun(rig.account, { hold: 10 }),
      await rig.engine.createRun(rig.account),
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
    const usage = "select is_ok, credits from usage_events where account_id = $1 order by run_id";
    expect(await rig.engine.db.query(usage, [rig.account])).toEqual([
      { is_ok: true, credits: 4 },
      { is_ok: true, credits: 10 },
      { is_ok: true, credits: 0 },
      { is_ok: false, credits: 0 },
      { is_ok: true, credits: 0 },
    ]);
    expect(await rig.engine.db.query("select fault from credit_audit where account_id = $1", [rig.account])).toEqual(
      [],
    );
  });

  test("touches no other run, and deletes only its own delivered items", async () => {
    const other = await rig.engine.createAccount();
    const [runId, beside] = [await rig.engine.createRun(rig.account), await rig.engine.createRun(rig.account)];
    const twin = await rig.engine.createRun(other, { runId });
    for (const [owner, id] of [
      [rig.account, runId],
      [rig.account, beside],
      [other, twin],
    ]) {
      await rig.engine.db.query("insert into run_steps values ($1, $2, 0, 0, '{}')", [owner, id]);
    }
    await end([runId], true, 1);
    const open = await rig.engine.db.query<{ account_id: string; id: string }>(
      "select account_id, id from runs where finished_at is null and account_id in ($1, $2) order by id, account_id",
      [rig.account, other],
    );
    const expected = [
      { account_id: other, id: runId },
      { account_id: rig.account, id: beside },
    ];
    expect(open).toEqual(expected);
    const steps = await rig.engine.db.query(
      "select account_id, run_id as id from run_steps where account_id in ($1, $2) order by run_id, account_id",
      [rig.account, other],
    );
    expect(steps).toEqual(expected);
  });
});
