/** Grants and their expiry, row for row: what is granted once, spent first, written off in time. */
import { describe, expect, test } from "vitest";
import { stopClock } from "./engine-fixture.ts";
import { at, EXPIRE, GRANT, NOW_US, useLedger } from "./ledger-fixture.ts";

const { rig, value, grant, hold, balanceOf, grantsOf, journalOf } = useLedger();

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

  test("names the earlier use of its key", async () => {
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
  test("are those of this account whose time has come, less what is held", async () => {
    const other = await rig.engine.createAccount();
    await grant(4, "a", 0);
    await rig.engine.db.query("delete from credit_grants where account_id = $1", [rig.account]);
    await rig.engine.db.query(
      `insert into credit_grants (account_id, remaining, expires_at)
       values ($1, 4, ${at(0)}), ($1, 1, ${at(-1)}), ($1, 8, ${at(1)}), ($2, 16, ${at(0)})`,
      [rig.account, other],
    );
    const expired = (held: number) => value(`credit_expired('${rig.account}', ${held}, ${at(0)})`);
    expect([await expired(0), await expired(1), await expired(5), await expired(6)]).toEqual([5, 4, 0, 0]);
    expect(await value(`credit_expired('${await rig.engine.createAccount()}', 0, ${at(0)})`)).toBe(0);
  });

  test("are written off once, and nothing else is", async () => {
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

  test("that are held stay, and the row says what is held", async () => {
    await grant(4, "a", 1);
    await hold(rig.engine.newId(), 3);
    await stopClock(rig.engine.db, NOW_US + 1);
    expect(await value(`credit_expire('${rig.account}')`)).toBe(1);
    expect((await journalOf()).at(-1)).toEqual([...EXPIRE, 1, 3, 3]);
  });

  test("are written off before a hold looks at the balance, down to a single one", async () => {
    await grant(1, "a", 1);
    await grant(4, "b");
    await stopClock(rig.engine.db, NOW_US + 1);
    expect(await hold(rig.engine.newId(), 5)).toBe(false);
    expect(await hold(rig.engine.newId(), 4)).toBe(true);
    expect(await balanceOf()).toEqual([4, 4]);
  });

  test("are not available, written off or not", async () => {
    const available = (of = rig.account) => value(`credits_available('${of}')`);
    await grant(4, "a", 1);
    await grant(5, "b");
    await hold(rig.engine.newId(), 2);
    expect(await available()).toBe(7);
    await stopClock(rig.engine.db, NOW_US + 1);
    expect(await available()).toBe(5);
    await value(`credit_expire('${rig.account}')`);
    expect(await available()).toBe(5);
    expect(await available(crypto.randomUUID())).toBe(0);
  });
});

test("grants are spent earliest expiry first, among equals the earlier one, and no other account's", async () => {
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
