/** What authors earn, row by row: booked by the capture and collected into credits, each hundredth once. */
import { describe, expect, test } from "vitest";
import { adjustCredits, availableCredits } from "../../src/credits/index.ts";
import { collectEarnings } from "../../src/credits/overdue-store.ts";
import { stopClock } from "../runs/engine-fixture.ts";
import { EXPIRE, GRANT, HOLD, NOW_US, useLedger } from "./ledger-fixture.ts";

const { rig, value, grant, hold, settle, balanceOf, journalOf } = useLedger();
const EARN = ["earn", "system:revenue", "user:available"];
const TAKE = ["adjust", "user:available", "system:adjusted"];

const available = (of: string) => availableCredits(rig.engine.db, of);
const collect = () => collectEarnings(rig.engine.db);
const faults = async (of: string): Promise<string[]> => {
  const rows = await rig.engine.db.query<{ fault: string }>(
    "select distinct fault from credit_audit where account_id = $1 and fault <> 'hold without a run' order by fault",
    [of],
  );
  return rows.map((row) => row.fault);
};
/** [run, hundredths, collected] of each booking for an author, in run order. */
const bookingsOf = async (author: string): Promise<unknown[]> =>
  rig.engine.db.query(
    "select hundredths, collected_at is not null as collected from credit_earnings where author_id = $1 order by run_id",
    [author],
  );

/** A finished run of the test's account, whose prompt is the author's. */
async function runFor(author: string, sharePercent: number, credits: number, held = 10): Promise<string> {
  const runId = rig.engine.newId();
  await value(`credit_hold_for('${rig.account}', '${runId}', ${held}, null, null, '${author}', ${sharePercent})`);
  await settle([rig.account], [runId], [credits]);
  return runId;
}

describe("the capture of a run", () => {
  test("books the author's share in the same transaction, and it can be spent at once", async () => {
    const author = await rig.engine.createAccount();
    await grant(100, "a");
    await runFor(author, 70, 10);
    await runFor(author, 70, 1);
    expect(await bookingsOf(author)).toEqual([
      { hundredths: 700, collected: false },
      { hundredths: 70, collected: false },
    ]);
    expect([await available(author), await balanceOf(author), await balanceOf()]).toEqual([7, null, [89, 0]]);
    expect([await faults(author), await faults(rig.account)]).toEqual([[], []]);
  });

  test("books nothing for a failed run, without a share, or for what is released", async () => {
    const author = await rig.engine.createAccount();
    await grant(100, "a");
    await runFor(author, 70, 0);
    await runFor(author, 0, 10);
    await runFor(author, 100, 4);
    await runFor(author, 50, 99); // captured is what was held, 10
    expect(await bookingsOf(author)).toEqual([
      { hundredths: 400, collected: false },
      { hundredths: 500, collected: false },
    ]);
  });

  test("books only for the runs that earn something, among runs that end together", async () => {
    const author = await rig.engine.createAccount();
    const runs = [rig.engine.newId(), rig.engine.newId(), rig.engine.newId()];
    const [earning, failed, without] = runs;
    await grant(100, "a");
    for (const run of [earning, failed]) {
      await value(`credit_hold_for('${rig.account}', '${run}', 10, null, null, '${author}', 50)`);
    }
    await hold(without ?? "", 10);
    await settle(Array<string>(3).fill(rig.account), runs, [3, 0, 4]);
    const booked = "select run_id, author_id, hundredths from credit_earnings where account_id = $1";
    expect(await rig.engine.db.query(booked, [rig.account])).toEqual([
      { run_id: earning, author_id: author, hundredths: 150 },
    ]);
  });

  test("books once, however often it is repeated", async () => {
    const author = await rig.engine.createAccount();
    await grant(100, "a");
    const runId = await runFor(author, 50, 3);
    await settle([rig.account], [runId], [9]);
    expect(await bookingsOf(author)).toEqual([{ hundredths: 150, collected: false }]);
  });
});

describe("collecting", () => {
  test("turns hundredths into whole credits, with one row in the journal, and loses no remainder", async () => {
    const [author, other] = [await rig.engine.createAccount(), await rig.engine.createAccount(3)];
    await grant(100, "a");
    for (const credits of [1, 1, 5]) await runFor(author, 33, credits);
    await runFor(other, 50, 1);
    await collect();
    expect([await journalOf(author), await balanceOf(author), await available(author)]).toEqual([
      [[...EARN, 2, 2, 0]], // 231 hundredths
      [2, 0],
      2,
    ]);
    expect([(await journalOf(other)).length, await balanceOf(other), await available(other)]).toEqual([1, [3, 0], 3]);
    await runFor(author, 69, 1); // exactly one credit with the remainder of 31
    await runFor(other, 50, 1);
    expect([await available(author), await available(other)]).toEqual([3, 4]);
    await collect();
    await collect(); // nothing is left
    expect([await journalOf(author), (await journalOf(other)).at(-1)]).toEqual([
      [
        [...EARN, 2, 2, 0],
        [...EARN, 1, 3, 0],
      ],
      [...EARN, 1, 4, 0],
    ]);
    const rests = await rig.engine.db.query(
      "select earned_rest from credit_accounts where account_id in ($1, $2) order by earned_rest",
      [author, other],
    );
    expect([rests, await faults(author), await faults(other)]).toEqual([
      [{ earned_rest: 0 }, { earned_rest: 0 }],
      [],
      [],
    ]);
  });

  test("of 99 hundredths yields no credit, and the 100th completes one", async () => {
    const author = await rig.engine.createAccount();
    await grant(100, "a");
    await runFor(author, 99, 1);
    expect(await available(author)).toBe(0); // booked for an account without a balance
    await collect();
    expect([await available(author), await journalOf(author)]).toEqual([0, []]); // a remainder, and nothing is booked
    await runFor(author, 1, 1);
    expect(await available(author)).toBe(1);
  });

  test("takes ten thousand bookings at a time, and the sweep continues until none are left", async () => {
    const author = await rig.engine.createAccount();
    await rig.engine.db.query(
      "insert into credit_earnings (account_id, run_id, author_id, hundredths) select gen_random_uuid(), gen_random_uuid(), $1, 2 from generate_series(1, 10001)",
      [author],
    );
    expect(await value(`credit_collect('${author}')`)).toBe(10_000);
    expect([await balanceOf(author), await available(author)]).toEqual([[200, 0], 200]);
    await collect();
    expect(await journalOf(author)).toEqual([[...EARN, 200, 200, 0]]); // two hundredths are not a credit
    expect(await bookingsOf(author)).not.toContainEqual({ hundredths: 2, collected: false });
  });

  test("is completed by an adjustment that takes away credits, also in steps of ten thousand", async () => {
    const author = await rig.engine.createAccount();
    await rig.engine.db.query(
      "insert into credit_earnings (account_id, run_id, author_id, hundredths) select gen_random_uuid(), gen_random_uuid(), $1, 100 from generate_series(1, 10001)",
      [author],
    );
    await adjustCredits(rig.engine.db, { accountId: author, amount: -10_001, reason: "a test" });
    expect(await balanceOf(author)).toEqual([0, 0]);
  });

  test("first expires what has expired", async () => {
    const author = await rig.engine.createAccount();
    await grant(5, "x", 1, author);
    await grant(100, "a");
    await runFor(author, 100, 2);
    await stopClock(rig.engine.db, NOW_US + 1);
    await collect();
    expect((await journalOf(author)).slice(1)).toEqual([
      [...EXPIRE, 5, 0, 0],
      [...EARN, 2, 2, 0],
    ]);
  });
});

describe("earned credits that are not collected yet", () => {
  test("pay for a run that needs them, and stay uncollected for a run that does not", async () => {
    const author = await rig.engine.createAccount(5);
    await grant(100, "a");
    await runFor(author, 100, 10);
    expect(await hold(rig.engine.newId(), 5, author)).toBe(true);
    expect(await bookingsOf(author)).toEqual([{ hundredths: 1_000, collected: false }]);
    expect(await hold(rig.engine.newId(), 11, author)).toBe(false);
    expect(await hold(rig.engine.newId(), 10, author)).toBe(true);
    expect((await journalOf(author)).slice(1)).toEqual([
      [...HOLD, 5, 5, 5],
      [...EARN, 10, 15, 5],
      [...HOLD, 10, 15, 15],
    ]);
    expect(await faults(author)).toEqual([]);
  });

  test("of another account do not create a balance for an account that has none", async () => {
    const [author, other] = [await rig.engine.createAccount(), await rig.engine.createAccount()];
    await grant(100, "a");
    await runFor(author, 100, 10);
    expect(await hold(rig.engine.newId(), 1, other)).toBe(false);
    expect([await balanceOf(other), await available(other)]).toEqual([null, 0]);
  });

  test("pay for nothing while the account is frozen", async () => {
    const author = await rig.engine.createAccount();
    await grant(100, "a");
    await runFor(author, 100, 10);
    await rig.engine.db.query("select credit_freeze($1, 'a test')", [author]);
    expect(await hold(rig.engine.newId(), 1, author)).toBe(false);
    expect(await available(author)).toBe(10);
  });

  test("can be taken away by an adjustment, and are not touched by an adjustment that adds credits", async () => {
    const author = await rig.engine.createAccount();
    await grant(100, "a");
    await runFor(author, 100, 10);
    const adjust = (amount: number) => adjustCredits(rig.engine.db, { accountId: author, amount, reason: "a test" });
    await adjust(2);
    expect(await bookingsOf(author)).toEqual([{ hundredths: 1_000, collected: false }]);
    await expect(adjust(-13)).rejects.toThrow("12 credits are available");
    await adjust(-12);
    expect((await journalOf(author)).slice(1)).toEqual([
      [...EARN, 10, 12, 0],
      [...TAKE, 12, 0, 0],
    ]);
    expect([await available(author), await faults(author)]).toEqual([0, []]);
  });
});

describe("the audit", () => {
  test("finds a booking that is missing, wrong, or counted twice", async () => {
    const author = await rig.engine.createAccount();
    await grant(100, "a");
    const runId = await runFor(author, 50, 4);
    const change = (text: string) => rig.engine.db.query(text, [runId]);
    await change("update credit_earnings set hundredths = 199 where run_id = $1");
    expect(await faults(rig.account)).toEqual(["share of an author"]);
    await change("delete from credit_earnings where run_id = $1");
    expect([await faults(rig.account), await faults(author)]).toEqual([["share of an author"], []]);
    await rig.engine.db.query(
      "insert into credit_earnings (account_id, run_id, author_id, hundredths, collected_at) values ($1, $2, $3, 200, now())",
      [rig.account, runId, author],
    );
    await grant(1, "b", null, author);
    expect([await faults(rig.account), await faults(author)]).toEqual([[], ["earnings of an author"]]);
    await change("update credit_earnings set collected_at = null where run_id = $1");
    await collect();
    expect([await faults(author), await journalOf(author)]).toEqual([
      [],
      [
        [...GRANT, 1, 1, 0],
        [...EARN, 2, 3, 0],
      ],
    ]);
    await rig.engine.db.query("update credit_accounts set earned_rest = 1 where account_id = $1", [author]);
    expect(await faults(author)).toEqual(["earnings of an author"]);
  });
});
