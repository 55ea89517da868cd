/** Adjustments and frozen accounts, row by row: what an operator may correct, and how an account is unfrozen. */
import { describe, expect, test } from "vitest";
import { adjustCredits, findStanding, freezeAccount, unfreezeAccount } from "../../src/credits/index.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { stopClock } from "../runs/engine-fixture.ts";
import { EXPIRE, GRANT, HOLD, NOW_US, useLedger } from "./ledger-fixture.ts";

const { rig, value, grant, hold, settle, balanceOf, grantsOf, keptOf, journalOf } = useLedger();
const ADD = ["adjust", "system:adjusted", "user:available"];
const TAKE = ["adjust", "user:available", "system:adjusted"];

const adjust = (amount: number, of = rig.account) =>
  adjustCredits(rig.engine.db, { accountId: of, amount, reason: "a test" });
const faults = async (of = rig.account): Promise<string[]> => {
  const text = "select fault from credit_audit where account_id = $1 order by fault";
  const rows = await rig.engine.db.query<{ fault: string }>(text, [of]);
  return [...new Set(rows.map((row) => row.fault))].filter((fault) => fault !== "hold without a run");
};
const damage = (change: string, of = rig.account) =>
  rig.engine.db.query(`update credit_accounts set ${change} where account_id = $1`, [of]);

describe("an adjustment", () => {
  test("adds credits that never expire, also to an account that has none", async () => {
    await adjust(5);
    expect([await journalOf(), await balanceOf(), await grantsOf()]).toEqual([[[...ADD, 5, 5, 0]], [5, 0], []]);
    expect(await faults()).toEqual([]);
  });

  test("takes away the credits that expire first, down to what is held and not one more", async () => {
    const other = await rig.engine.createAccount();
    await grant(9, "x", 1, other);
    await grant(4, "a", 20);
    await grant(3, "b", 10);
    await grant(5, "c");
    await hold(rig.engine.newId(), 2);
    await adjust(-4);
    expect([await balanceOf(), await grantsOf()]).toEqual([
      [8, 2],
      [0, 3],
    ]);
    await expect(adjust(-7)).rejects.toThrow(
      "would leave fewer credits than are held for runs; 6 credits are available.",
    );
    await adjust(-6);
    expect((await journalOf()).slice(4)).toEqual([
      [...TAKE, 4, 8, 2],
      [...TAKE, 6, 2, 2],
    ]);
    expect([await balanceOf(), await grantsOf(), await grantsOf(other)]).toEqual([[2, 2], [0, 0], [9]]);
    expect(await faults()).toEqual([]);
  });

  test("cannot take expired credits, written off or not, and takes nothing if it is refused", async () => {
    await grant(4, "a", 1);
    await grant(5, "b");
    await hold(rig.engine.newId(), 1);
    await stopClock(rig.engine.db, NOW_US + 1);
    await expect(adjust(-6)).rejects.toThrow("5 credits are available");
    expect((await journalOf()).slice(2)).toEqual([[...HOLD, 1, 9, 1]]);
    await adjust(-5);
    expect((await journalOf()).slice(3)).toEqual([
      [...EXPIRE, 3, 6, 1],
      [...TAKE, 5, 1, 1],
    ]);
    expect([await balanceOf(), await keptOf(), await faults()]).toEqual([[1, 1], [1], []]);
  });

  test("of 0 resets a balance to what its journal and holds say, and is refused if it already is", async () => {
    const run = rig.engine.newId();
    await grant(10, "a");
    await hold(run, 4);
    const message = expect.stringContaining("an adjustment of 0 changes nothing");
    await expect(adjust(0)).rejects.toMatchObject({ code: "VALIDATION_ERROR", message });
    for (const change of ["posted = posted + 7", "posted = 4", "held = 0", "held = 10, posted = 12"]) {
      await damage(change);
      expect(await faults()).toEqual(["balance"]);
      await adjust(0);
      expect([await balanceOf(), await faults()]).toEqual([[10, 4], []]);
    }
    expect((await journalOf()).slice(2)).toEqual(Array.from({ length: 4 }, () => [...ADD, 0, 10, 4]));
    await settle([rig.account], [run], [4]);
    expect([await balanceOf(), await faults()]).toEqual([[6, 0], []]);
  });

  test("has no time limit, because it reads the whole journal", async () => {
    const seen: unknown[] = [];
    const tx: Database["tx"] = (work, options) => {
      seen.push(options);
      return rig.engine.db.tx(work, options);
    };
    await adjustCredits({ ...rig.engine.db, tx }, { accountId: rig.account, amount: 1, reason: "a test" });
    expect(seen).toEqual([{ statementTimeoutMs: 0 }]);
  });

  test("of 0 repairs the balance of an account whose credits are all held", async () => {
    await grant(10, "a");
    await hold(rig.engine.newId(), 10);
    await damage("posted = 11");
    await adjust(0);
    expect([await balanceOf(), await faults()]).toEqual([[10, 10], []]);
  });

  test("starts from the journal, so it accepts a manual change or replaces a lost row", async () => {
    await grant(10, "a");
    await damage("posted = posted + 7");
    await adjust(7);
    expect([await balanceOf(), await faults()]).toEqual([[17, 0], []]);
    await damage("posted = posted + 7");
    await adjust(-3);
    expect([await balanceOf(), await faults()]).toEqual([[14, 0], []]);
    await rig.engine.db.tx(async (tx) => {
      await tx.query("alter table credit_transfers disable trigger append_only");
      await tx.query("delete from credit_transfers where account_id = $1 and kind = 'grant'", [rig.account]);
      await tx.query("alter table credit_transfers enable trigger append_only");
    });
    await hold(rig.engine.newId(), 12);
    await expect(adjust(7)).rejects.toThrow("-1 credits are available");
    await adjust(10);
    expect(await balanceOf()).toEqual([14, 12]);
    expect(await faults()).toEqual(["journal chain"]);
  });
});

describe("a frozen account", () => {
  const thaw = ({ acceptsJournal } = { acceptsJournal: false }) =>
    unfreezeAccount(rig.engine.db, rig.account, { reason: "checked", acceptsJournal });
  const frozen = async () => (await findStanding(rig.engine.db, rig.account)).frozen;

  test("shows since when and why, or only since when if it was frozen before reasons were recorded", async () => {
    expect(await frozen()).toBeNull();
    expect(await freezeAccount(rig.engine.db, rig.account, "first")).toBe(true);
    expect(await freezeAccount(rig.engine.db, rig.account, "second")).toBe(false);
    const since = new Date(NOW_US / 1_000).toISOString();
    expect(await frozen()).toEqual({ since, reason: "first" });
    expect([await thaw(), await thaw(), await frozen()]).toEqual([true, false, null]);
    await damage("frozen_at = promptd_now() + interval '1 s'");
    expect(await frozen()).toMatchObject({ reason: null });
  });

  test("accepts no hold, is settled, granted, and adjusted as usual, and accepts holds again once it is unfrozen", async () => {
    const run = rig.engine.newId();
    await grant(10, "a");
    await hold(run, 4);
    await freezeAccount(rig.engine.db, rig.account, "a test");
    expect(await hold(rig.engine.newId(), 1)).toBe(false);
    await settle([rig.account], [run], [3]);
    await grant(2, "b");
    await adjust(-1);
    expect([await balanceOf(), await thaw()]).toEqual([[8, 0], true]);
    expect(await hold(rig.engine.newId(), 8)).toBe(true);
  });

  test("stays frozen while the audit finds a fault, and the refusal names the fault", async () => {
    await grant(10, "a");
    await freezeAccount(rig.engine.db, rig.account, "a test");
    await damage("posted = 11");
    await expect(thaw()).rejects.toThrow(
      /^The account stays frozen, .*:\n {2}balance: posted 11, held 0; .*\nRepair it/s,
    );
    await expect(thaw({ acceptsJournal: true })).rejects.toThrow("balance: posted 11");
    expect(await frozen()).toMatchObject({ reason: "a test" });
    await adjust(0);
    expect(await thaw()).toBe(true);
  });

  test("with a fault in its append-only journal is unfrozen when the operator accepts it, and later faults are found", async () => {
    await grant(10, "a");
    await damage("posted = 11");
    await grant(1, "b"); // from now on the journal has a gap
    await freezeAccount(rig.engine.db, rig.account, "a test");
    await adjust(0);
    expect(await faults()).toEqual(["journal chain"]);
    await expect(thaw()).rejects.toThrow("journal chain");
    expect([await thaw({ acceptsJournal: true }), await faults(), await balanceOf()]).toEqual([true, [], [11, 0]]);
    await damage("posted = 12");
    await grant(1, "c");
    expect(await faults()).toEqual(["balance", "journal chain"]);
    expect((await journalOf()).at(-1)).toEqual([...GRANT, 1, 13, 0]);
  });

  test("does not affect others: nothing of another account is frozen, accepted, or adjusted", async () => {
    const other = await rig.engine.createAccount();
    await grant(10, "a", null, other);
    await damage("posted = 11", other);
    await grant(1, "b", null, other);
    await freezeAccount(rig.engine.db, other, "other");
    expect([await thaw(), await value(`credit_is_frozen('${rig.account}')`)]).toEqual([false, false]);
    await grant(5, "a");
    await freezeAccount(rig.engine.db, rig.account, "mine");
    await adjust(1);
    expect(await thaw({ acceptsJournal: true })).toBe(true);
    expect(await findStanding(rig.engine.db, other)).toMatchObject({ posted: 12, frozen: { reason: "other" } });
    expect([await faults(other), await value(`credit_is_frozen('${other}')`)]).toEqual([
      ["balance", "journal chain"],
      true,
    ]);
  });
});

test("the manual repairs in docs/operations.md release and settle a hold, and limit the grants to the balance", async () => {
  const [lost, final] = [rig.engine.newId(), rig.engine.newId()];
  await grant(10, "a", 10);
  for (const run of [lost, final]) await hold(run, 3);
  const settled = (run: string, credits: number) =>
    value(`credit_settle(array['${rig.account}'::uuid], array['${run}'::uuid], array[${credits}])::text`);
  await settled(lost, 0);
  await settled(final, 2);
  expect([await balanceOf(), await grantsOf(), await faults()]).toEqual([[8, 0], [8], []]);
  await rig.engine.db.query("update credit_grants set remaining = 9 where account_id = $1", [rig.account]);
  expect(await faults()).toEqual(["grants above the balance"]);
  await rig.engine.db.query("update credit_grants set remaining = 0 where account_id = $1", [rig.account]);
  expect([await balanceOf(), await faults()]).toEqual([[8, 0], []]);
});
