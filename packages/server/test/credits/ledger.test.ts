import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { adjustCredits, availableCredits, checkLedger, grantCredits } from "../../src/credits/index.ts";
import { collectEarnings, expireCredits } from "../../src/credits/overdue-store.ts";
import { createAudit } from "../../src/credits/reconcile.ts";
import { createLog } from "../../src/platform/log.ts";
import { Problem } from "../../src/platform/problem.ts";
import { grant, openEngine, type Engine } from "../runs/engine-fixture.ts";
import { authorOf, LedgerModel, ledgerActions, type Act, type Hour } from "./ledger-model.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear()); // a claim must not find runs that an earlier test left waiting
afterAll(() => engine.close());

/** Sequences too rare to be left to chance. */
const target = { account: 0, run: 0 };
const heldPastItsExpiry: Act[] = [
  { ...target, kind: "grant", amount: 10, key: 0, hour: 1 },
  { ...target, kind: "hold", amount: 6, share: 0 },
  { ...target, kind: "expire", hour: 1, isSwept: true },
  { ...target, kind: "finish", credits: 1 },
  { ...target, kind: "hold", run: 1, amount: 1, share: 0 },
];
const heldAfterTheExpiry: Act[] = [
  { ...target, kind: "grant", amount: 25, key: 0, hour: null },
  { ...target, kind: "grant", amount: 15, key: 1, hour: 1 },
  { ...target, kind: "hold", amount: 15, share: 0 },
  { ...target, kind: "expire", hour: 1, isSwept: false },
  { ...target, kind: "hold", run: 1, amount: 25, share: 0 },
  { ...target, kind: "finish", credits: 0 },
  { ...target, kind: "hold", run: 2, amount: 15, share: 0 },
];

/** A mutation run only asks whether a sequence fails, not for the shortest that does. */
const IS_BRIEF = process.env["PROMPTD_TEST_BRIEF"] !== undefined;
const SEQUENCES = Number(process.env["PROMPTD_TEST_LEDGER_SEQUENCES"] ?? 150);

describe("the ledger", () => {
  test("matches a small model after every step of random sequences over three accounts", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ledgerActions, { minLength: 1, maxLength: 30 }), async (acts) => {
        const accounts = await Promise.all([0, 1, 2].map(() => engine.createAccount()));
        const model = new LedgerModel();
        for (const act of acts) await actBoth(model, act, accounts);
        expect(await engine.audit()).toEqual([]);
      }),
      { numRuns: SEQUENCES, endOnFailure: IS_BRIEF, examples: [[heldPastItsExpiry], [heldAfterTheExpiry]] },
    );
  }, 600_000);

  async function actBoth(model: LedgerModel, act: Act, accounts: readonly string[]): Promise<void> {
    const accountId = accounts[act.account] ?? "";
    const expected = model.act(act);
    const runId = `00000000-0000-7000-8000-${(act.run + 1).toString(16).padStart(12, "0")}`;
    const outcome = await actOnDatabase(act, accounts, runId);
    expect({ act, outcome }).toEqual({ act, outcome: expected });
    const available = await availableCredits(engine.db, accountId);
    expect({ act, available }).toEqual({ act, available: model.available(act.account) });
  }

  /** False for a key that was already used, whatever it was used for. */
  async function grantOnce(request: Parameters<typeof grantCredits>[1]): Promise<boolean> {
    return (await grantCredits(engine.db, request)).kind === "granted";
  }

  async function actOnDatabase(act: Act, accounts: readonly string[], runId: string): Promise<boolean> {
    const accountId = accounts[act.account] ?? "";
    switch (act.kind) {
      case "grant":
        return grantOnce({
          accountId,
          amount: act.amount,
          reason: null,
          idempotencyKey: `key-${act.key}`,
          expiresAt: act.hour === null ? null : endOf(act.hour).toISOString(),
        });
      case "hold":
        return (
          (await engine.create(accountId, { runId, hold: act.amount, author: authorOfAction(act, accounts) })).kind ===
          "created"
        );
      case "adjust":
        return adjustCredits(engine.db, { accountId, amount: act.amount, reason: "model" }).then(
          () => true,
          (error: unknown) => {
            if (error instanceof Problem) return false;
            throw error;
          },
        );
      case "finish":
        return settle(accountId, runId, act.credits);
      case "expire":
        return expire(accountId, act);
      default:
        return act satisfies never;
    }
  }

  function authorOfAction({ account, share }: Extract<Act, { kind: "hold" }>, accounts: readonly string[]) {
    return { accountId: accounts[authorOf(account)] ?? "", sharePercent: share };
  }

  /** Late enough that no grant of a test expires on its own. */
  function endOf(hour: Hour): Date {
    return new Date(Date.now() + hour * 3_600_000);
  }

  async function expire(accountId: string, { hour, isSwept }: Extract<Act, { kind: "expire" }>): Promise<boolean> {
    await engine.db.query(
      "update credit_grants set expires_at = promptd_now() where account_id = $1 and expires_at <= $2",
      [accountId, endOf(hour)],
    );
    if (isSwept) await Promise.all([expireCredits(engine.db), collectEarnings(engine.db)]);
    return true;
  }

  /** Uses the functions that every finish uses; true: this call made the run final. */
  async function settle(accountId: string, runId: string, credits: number): Promise<boolean> {
    const rows = await engine.db.query(
      `select run_settle(array[$1::uuid], array[$2::uuid], array[$3::boolean], array[$4::bigint], array['[]'::json],
         array[null::text])`,
      [accountId, runId, credits > 0, credits],
    );
    return rows.length > 0;
  }

  test("is append-only: update, delete, and truncate of the journal are refused", async () => {
    await engine.createAccount(5);
    for (const statement of [
      "update credit_transfers set amount = amount + 1",
      "delete from credit_transfers",
      "truncate credit_transfers",
    ]) {
      await expect(engine.db.query(statement)).rejects.toMatchObject({ code: "PD900" });
    }
  });

  test("holds exactly three of thirty concurrent runs when there is credit for three", async () => {
    const account = await engine.createAccount(30);
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => engine.create(account, { hold: 10 })));
    const kinds = outcomes.map((outcome) => outcome.kind).sort();
    expect(kinds).toEqual([...Array<string>(3).fill("created"), ...Array<string>(27).fill("no_credits")]);
    expect(await availableCredits(engine.db, account)).toBe(0);
    expect(await engine.audit()).toEqual([]);
  });

  test("one idempotency key grants once, however many grants arrive together", async () => {
    const account = await engine.createAccount();
    const request = { accountId: account, amount: 7, reason: null, idempotencyKey: "once", expiresAt: null };
    const granted = await Promise.all(Array.from({ length: 12 }, () => grantCredits(engine.db, request)));
    expect(granted.map(({ kind }) => kind).sort()).toEqual(["granted", ...Array<string>(11).fill("repeated")]);
    expect(await availableCredits(engine.db, account)).toBe(7);
  });

  test("one idempotency key with two concurrent amounts grants one of them, and reports to the other what was granted", async () => {
    const account = await engine.createAccount();
    const request = { accountId: account, reason: null, idempotencyKey: "once", expiresAt: null };
    const outcomes = await Promise.all([7, 8].map((amount) => grantCredits(engine.db, { ...request, amount })));
    const granted = await availableCredits(engine.db, account);
    expect([7, 8]).toContain(granted);
    const used = { amount: granted, expiresAt: null, at: expect.any(Date) };
    const expected = [7, 8].map((amount) => (amount === granted ? { kind: "granted" } : { kind: "conflict", used }));
    expect(outcomes).toEqual(expected);
    expect(await engine.audit()).toEqual([]);
  });

  test("a finish sent twice at once captures once", async () => {
    const account = await engine.createAccount(100);
    await engine.createRun(account, { hold: 40 });
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    const finished = await Promise.all([1, 2, 3].map(() => engine.finish(worker, runs, { credits: 12 })));
    expect(finished.flat().sort()).toEqual(runs.map((run) => run.runId).sort());
    expect(await availableCredits(engine.db, account)).toBe(88);
    expect(await engine.audit()).toEqual([]);
  });

  test("a run is never charged more than its hold, and a failed run is charged nothing", async () => {
    const account = await engine.createAccount(100);
    const worker = await engine.registerWorker();
    const dear = await engine.createRun(account, { hold: 10 });
    await engine.finish(worker, await engine.claim(worker), { credits: 50 });
    const failed = await engine.createRun(account, { hold: 10 });
    await engine.finish(worker, await engine.claim(worker), { ok: false, credits: 9 });
    expect((await engine.stateOf(dear)).credits).toBe(10);
    expect((await engine.stateOf(failed)).credits).toBe(0);
    expect(await availableCredits(engine.db, account)).toBe(90);
    expect(await engine.audit()).toEqual([]);
  });

  test("a free run leaves no trace in the ledger and its credits stay null", async () => {
    const account = await engine.createAccount(3);
    const worker = await engine.registerWorker();
    const runId = await engine.createRun(account, { hold: null });
    await engine.finish(worker, await engine.claim(worker), { credits: 5 });
    expect((await engine.stateOf(runId)).credits).toBeNull();
    const rows = await engine.db.query("select 1 from credit_transfers where run_id = $1", [runId]);
    const holds = await engine.db.query("select 1 from credit_holds where run_id = $1", [runId]);
    expect([rows, holds]).toEqual([[], []]);
  });
});

describe("credits that expire", () => {
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

  test("are spent earliest expiry first", async () => {
    const account = await engine.createAccount();
    await grant(engine.db, account, 10, inSeconds(7_200));
    await grant(engine.db, account, 10, inSeconds(3_600));
    await grant(engine.db, account, 10);
    await engine.createRun(account, { hold: 15 });
    const worker = await engine.registerWorker();
    await engine.finish(worker, await engine.claim(worker), { credits: 12 });
    const left = await engine.db.query<{ remaining: number }>(
      "select remaining from credit_grants where account_id = $1 order by expires_at",
      [account],
    );
    expect(left.map((row) => row.remaining)).toEqual([0, 8]);
    expect(await availableCredits(engine.db, account)).toBe(18);
  });

  test("that a run holds outlive their expiry and can be captured", async () => {
    const account = await engine.createAccount();
    await grant(engine.db, account, 10, inSeconds(3_600));
    await engine.createRun(account, { hold: 6, deadlineSeconds: 36_000 });
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    await engine.db.query("update credit_grants set expires_at = promptd_now() where account_id = $1", [account]);
    expect(await availableCredits(engine.db, account)).toBe(0); // 4 have expired, 6 are held
    await expireCredits(engine.db);
    await engine.finish(worker, runs, { credits: 6 });
    const [row] = await engine.db.query("select posted, held from credit_accounts where account_id = $1", [account]);
    expect(row).toEqual({ posted: 0, held: 0 });
    expect(await engine.audit()).toEqual([]);
  });

  test("that are released from a hold after their expiry are gone", async () => {
    const account = await engine.createAccount();
    await grant(engine.db, account, 10, inSeconds(3_600));
    await engine.createRun(account, { hold: 6 });
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    await engine.db.query("update credit_grants set expires_at = promptd_now() where account_id = $1", [account]);
    await engine.finish(worker, runs, { ok: false });
    expect(await availableCredits(engine.db, account)).toBe(0);
    await expireCredits(engine.db);
    const [row] = await engine.db.query("select posted, held from credit_accounts where account_id = $1", [account]);
    expect(row).toEqual({ posted: 0, held: 0 });
    expect(await engine.audit()).toEqual([]);
  });

  test("never back a run that is created after the expiry, however long other runs hold them", async () => {
    const account = await engine.createAccount(50);
    await grant(engine.db, account, 30, inSeconds(3_600));
    await engine.createRun(account, { hold: 30, deadlineSeconds: 36_000 });
    const worker = await engine.registerWorker();
    const before = await engine.claim(worker);
    await engine.db.query("update credit_grants set expires_at = promptd_now() where account_id = $1", [account]);
    expect(await availableCredits(engine.db, account)).toBe(50);
    await engine.createRun(account, { hold: 50 });
    await engine.finish(worker, before, { ok: false });
    expect(await availableCredits(engine.db, account)).toBe(0);
    expect((await engine.create(account, { hold: 1 })).kind).toBe("no_credits");
    await engine.finish(worker, await engine.claim(worker), { credits: 50 });
    const [row] = await engine.db.query("select posted, held from credit_accounts where account_id = $1", [account]);
    expect(row).toEqual({ posted: 0, held: 0 });
    expect(await engine.audit()).toEqual([]);
  });

  test("add up to the credit when runs end, runs start, and sweeps happen at the same time", async () => {
    const account = await engine.createAccount(40);
    await grant(engine.db, account, 30, inSeconds(3_600));
    for (let run = 0; run < 3; run += 1) await engine.createRun(account, { hold: 10, deadlineSeconds: 36_000 });
    const worker = await engine.registerWorker();
    const before = await engine.claim(worker);
    await engine.db.query("update credit_grants set expires_at = promptd_now() where account_id = $1", [account]);
    const created = Array.from({ length: 8 }, () => engine.create(account, { hold: 10 }));
    const finished = before.map((run) => engine.finish(worker, [run], { credits: 4 }));
    await Promise.all([...finished, ...Array.from({ length: 4 }, () => expireCredits(engine.db))]);
    const kinds = (await Promise.all(created)).map((outcome) => outcome.kind).sort();
    expect(kinds).toEqual([...Array<string>(4).fill("created"), ...Array<string>(4).fill("no_credits")]);
    const totals = await engine.db.query(
      `select sum(amount) filter (where kind = 'capture')::int as captured,
         sum(amount) filter (where kind = 'expire')::int as expired from credit_transfers where account_id = $1`,
      [account],
    );
    expect(totals).toEqual([{ captured: 12, expired: 18 }]);
    expect(await engine.audit()).toEqual([]);
  });

  test("expire once, however many sweeps run at the same time", async () => {
    const account = await engine.createAccount();
    await grant(engine.db, account, 10, inSeconds(3_600));
    await engine.db.query("update credit_grants set expires_at = promptd_now() where account_id = $1", [account]);
    await Promise.all([1, 2, 3, 4].map(() => expireCredits(engine.db)));
    const rows = await engine.db.query(
      "select amount from credit_transfers where account_id = $1 and kind = 'expire'",
      [account],
    );
    expect(rows).toEqual([{ amount: 10 }]);
    expect(await engine.audit()).toEqual([]);
  });
});

describe("the audit", () => {
  /** Each damage is done in a transaction that is rolled back, so that the database stays valid for the other tests. */
  async function auditAfter(damage: (accountId: string) => readonly string[]): Promise<string[]> {
    const account = await engine.createAccount(100);
    await engine.createRun(account, { hold: 10 });
    const worker = await engine.registerWorker();
    await engine.finish(worker, await engine.claim(worker), { credits: 4 });
    await engine.createRun(account, { hold: 20 });
    const undo = new Error("undo");
    let faults: string[] = [];
    const done = engine.db.tx(async (tx) => {
      for (const statement of damage(account)) await tx.query(statement);
      const rows = await tx.query<{ fault: string }>("select fault from credit_audit where account_id = $1", [account]);
      faults = rows.map((row) => row.fault);
      throw undo;
    });
    await expect(done).rejects.toBe(undo);
    return faults;
  }
  const holdOf = (id: string, state: string) => `from credit_holds where account_id = '${id}' and state = '${state}'`;
  const withoutTrigger = (statement: string) => ["alter table credit_transfers disable trigger append_only", statement];

  test("finds a balance that its journal does not explain", async () => {
    const faults = await auditAfter((id) => [
      `update credit_accounts set posted = posted + 1 where account_id = '${id}'`,
    ]);
    expect(faults).toContain("balance");
  });
  test("finds a missing journal row", async () => {
    const faults = await auditAfter((id) =>
      withoutTrigger(`delete from credit_transfers where account_id = '${id}' and kind = 'capture'`),
    );
    expect(faults).toEqual(expect.arrayContaining(["balance", "journal chain"]));
  });
  test("finds a hold that its finished run left open", async () => {
    const faults = await auditAfter((id) => [
      `update credit_holds set state = 'held', captured = null where account_id = '${id}' and state = 'captured'`,
    ]);
    expect(faults).toEqual(expect.arrayContaining(["hold of a finished run", "balance"]));
  });
  test("finds a charge that differs from what the run says", async () => {
    const faults = await auditAfter((id) => [
      `update runs set credits = credits + 1 where account_id = '${id}' and finished_at is not null`,
    ]);
    expect(faults).toEqual(["credits differ from the capture"]);
  });
  test("finds a hold without a run", async () => {
    const faults = await auditAfter((id) => [`delete from runs where account_id = '${id}' and finished_at is null`]);
    expect(faults).toEqual(["hold without a run"]);
  });
  test("finds grants above the balance", async () => {
    const faults = await auditAfter((id) => [
      `insert into credit_grants (account_id, remaining, expires_at) values ('${id}', 1000, 'infinity')`,
    ]);
    expect(faults).toEqual(["grants above the balance"]);
  });
  const back = (id: string, run: string, amount: number) =>
    `insert into credit_expired_backing (account_id, run_id, amount) select '${id}', ${run}, ${amount}`;
  test.each([
    ["no hold", (id: string) => back(id, "gen_random_uuid()", 7)],
    ["a settled hold", (id: string) => `${back(id, "run_id", 4)} ${holdOf(id, "captured")}`],
    ["a hold beyond its amount", (id: string) => `${back(id, "run_id", 21)} ${holdOf(id, "held")}`],
  ])("finds expired credits that back %s", async (_, damage) => {
    expect(await auditAfter((id) => [damage(id)])).toEqual(["backing above the hold"]);
  });
  test("finds grants above the balance that back no hold", async () => {
    const grants = (id: string, amount: number) =>
      `insert into credit_grants (account_id, remaining, expires_at) values ('${id}', ${amount}, 'infinity')`;
    const backing = (id: string) => `${back(id, "run_id", 20)} ${holdOf(id, "held")}`; // of a balance of 96
    expect(await auditAfter((id) => [backing(id), grants(id, 76)])).toEqual([]);
    expect(await auditAfter((id) => [backing(id), grants(id, 77)])).toEqual(["grants above the balance"]);
  });

  test("freezes the account of a mismatch and no other: it accepts no new holds", async () => {
    const fixture = await openEngine();
    try {
      const [sound, broken] = [await fixture.createAccount(50), await fixture.createAccount(50)];
      await fixture.db.query("update credit_accounts set posted = posted + 1 where account_id = $1", [broken]);
      await createAudit(fixture.db, createLog("silent", "stderr"))();
      expect((await fixture.create(broken, { hold: 1 })).kind).toBe("frozen");
      expect((await fixture.create(sound, { hold: 1 })).kind).toBe("created");
      expect((await checkLedger(fixture.db)).mismatches).toHaveLength(1); // reported, and not repaired
    } finally {
      await fixture.close();
    }
  });
});
