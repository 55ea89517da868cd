/** Grants and their expiry, row by row: what is granted once, spent first, and written off in time. */
import { describe, expect, test } from "vitest";
import { stopClock } from "../runs/engine-fixture.ts";
import { at, EXPIRE, GRANT, NOW_US, useLedger } from "./ledger-fixture.ts";

const { rig, value, grant, hold, settle, balanceOf, grantsOf, keptOf, journalOf } = useLedger();

describe("a grant", () => {
  test("is one row of the journal, and has a part that expires at its time", async () => {
    expect([await grant(5, "a"), await grant(7, "b", 10)]).toEqual(["granted", "granted"]);
    expect(await journalOf()).toEqual([
      [...GRANT, 5, 5, 0],
      [...GRANT, 7, 12, 0],
    ]);
    expect([await balanceOf(), await grantsOf()]).toEqual([[12, 0], [7]]);
  });

  test("under a used key repeats or, if it differs, conflicts, and the key is free for another account", async () => {
    const other = await rig.engine.createAccount();
    await grant(5, "a", 10);
    expect(await grant(5, "a", 10)).toBe("repeated");
    expect([await grant(6, "a", 10), await grant(5, "a", 11), await grant(5, "a")]).toEqual(Array(3).fill("conflict"));
    expect(await grant(5, "a", null, other)).toBe("granted");
    expect([await balanceOf(), await balanceOf(other)]).toEqual([
      [5, 0],
      [5, 0],
    ]);
  });

  test("reports the earlier use of its key", async () => {
    await grant(5, "a", 10);
    const used = await value(`(select row_to_json(g) from credit_grant('${rig.account}', 6, 'a', 'me', null) g)`);
    expect(used).toMatchObject({ outcome: "conflict", used_amount: 5 });
  });

  test("first writes off what has expired", async () => {
    await grant(4, "a", 1);
    await stopClock(rig.engine.db, NOW_US + 1);
    await grant(3, "b");
    expect((await journalOf()).slice(1)).toEqual([
      [...EXPIRE, 4, 0, 0],
      [...GRANT, 3, 3, 0],
    ]);
  });
});

describe("expired credits", () => {
  test("are the grants of this account whose time has come", async () => {
    const other = await rig.engine.createAccount();
    await rig.engine.db.query(
      `insert into credit_grants (account_id, remaining, expires_at)
       values ($1, 4, ${at(0)}), ($1, 1, ${at(-1)}), ($1, 8, ${at(1)}), ($2, 16, ${at(0)})`,
      [rig.account, other],
    );
    expect(await value(`credit_expired('${rig.account}', ${at(0)})`)).toBe(5);
    expect(await value(`credit_expired('${await rig.engine.createAccount()}', ${at(0)})`)).toBe(0);
  });

  test("are written off once, and other credits are not", async () => {
    await grant(4, "a", 1);
    await grant(3, "b", 2);
    await grant(2, "c");
    await stopClock(rig.engine.db, NOW_US + 1);
    const other = await rig.engine.createAccount();
    await grant(9, "a", 5, other);
    const expire = () => value(`credit_expire('${rig.account}')`);
    expect([await expire(), await expire()]).toEqual([4, 0]);
    expect((await journalOf()).slice(3)).toEqual([[...EXPIRE, 4, 5, 0]]);
    expect([await balanceOf(), await grantsOf(), await grantsOf(other)]).toEqual([[5, 0], [0, 3], [9]]);
    expect(await value(`credit_expire('${crypto.randomUUID()}')`)).toBe(0);
  });

  test("that are held stay, and the journal row says what is held", async () => {
    await grant(4, "a", 1);
    await hold(rig.engine.newId(), 3);
    await stopClock(rig.engine.db, NOW_US + 1);
    expect(await value(`credit_expire('${rig.account}')`)).toBe(1);
    expect((await journalOf()).at(-1)).toEqual([...EXPIRE, 1, 3, 3]);
    expect([await grantsOf(), await keptOf()]).toEqual([[0], [3]]);
  });

  test("back the open holds of this account, earliest run first, each up to its amount", async () => {
    const other = await rig.engine.createAccount();
    await grant(50, "x", null, other);
    await hold(rig.engine.newId(), 50, other);
    await grant(5, "a", 1);
    await grant(6, "b", 2);
    await grant(2, "c", 3);
    await grant(20, "d");
    const ended = rig.engine.newId();
    await hold(ended, 8);
    await settle([rig.account], [ended], [0]);
    for (const amount of [4, 3, 2]) await hold(rig.engine.newId(), amount);
    const expireAt = async (us: number): Promise<unknown[]> => {
      await stopClock(rig.engine.db, NOW_US + us);
      return [await value(`credit_expire('${rig.account}')`), await grantsOf(), await keptOf()];
    };
    expect(await expireAt(1)).toEqual([0, [0, 6, 2], [4, 1]]);
    expect(await expireAt(2)).toEqual([2, [0, 0, 2], [4, 3, 2]]);
    expect(await expireAt(3)).toEqual([2, [0, 0, 0], [4, 3, 2]]);
    expect([await balanceOf(), await keptOf(other)]).toEqual([[29, 9], []]);
  });

  test("that expired before they were granted are written off at once, and back no hold", async () => {
    await grant(10, "a");
    await hold(rig.engine.newId(), 10);
    await grant(4, "b", 0);
    await grant(3, "c", 1);
    expect((await journalOf()).slice(2)).toEqual([
      [...GRANT, 4, 14, 10],
      [...EXPIRE, 4, 10, 10],
      [...GRANT, 3, 13, 10],
    ]);
    expect([await grantsOf(), await keptOf()]).toEqual([[3], []]);
  });

  test("are written off before a hold reads the balance, down to a single credit", async () => {
    await grant(1, "a", 1);
    await grant(4, "b");
    await stopClock(rig.engine.db, NOW_US + 1);
    expect(await hold(rig.engine.newId(), 5)).toBe(false);
    expect(await hold(rig.engine.newId(), 4)).toBe(true);
    expect(await balanceOf()).toEqual([4, 4]);
  });

  test("are not available, whether written off or not", async () => {
    const available = (of = rig.account) => value(`credits_available('${of}')`);
    await grant(4, "a", 1);
    await grant(5, "b");
    await hold(rig.engine.newId(), 2);
    expect(await available()).toBe(7);
    await stopClock(rig.engine.db, NOW_US + 1);
    expect(await available()).toBe(5);
    await value(`credit_expire('${rig.account}')`);
    expect(await available()).toBe(5);
    await grant(3, "c", 2); // the hold has no room for more
    expect(await available()).toBe(8);
    await stopClock(rig.engine.db, NOW_US + 2);
    expect(await available()).toBe(5);
    expect(await available(crypto.randomUUID())).toBe(0);
  });
});

test("grants are spent earliest expiry first, the earlier of equals first, and never those of another account", async () => {
  const other = await rig.engine.createAccount();
  await grant(16, "x", 1, other);
  await grant(5, "late", 30);
  await grant(3, "a", 10);
  await grant(4, "b", 10);
  const spend = (amount: number) => value(`credit_grants_spend('${rig.account}', ${amount})::text`);
  await spend(0);
  expect(await grantsOf()).toEqual([3, 4, 5]);
  await spend(2);
  expect(await grantsOf()).toEqual([1, 4, 5]);
  await spend(4);
  expect(await grantsOf()).toEqual([0, 1, 5]);
  await spend(100);
  expect([await grantsOf(), await grantsOf(other)]).toEqual([[0, 0, 0], [16]]);
});
