/** Work on many accounts: expiry in batches and the audit batch by batch; and what a grant returns. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { availableCredits, checkLedger, findStanding, grantCredits } from "../../src/credits/index.ts";
import { expireCredits } from "../../src/credits/overdue-store.ts";
import { createAudit } from "../../src/credits/reconcile.ts";
import { enableFaults } from "../../src/platform/fault-injection.ts";
import type { Database, Queryable } from "../../src/platform/database/database.ts";
import { createLog, type Log } from "../../src/platform/log.ts";
import { openEngine, stopClock, type Engine } from "../runs/engine-fixture.ts";

const NOW_US = 1_800_000_000_000_000;
let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
beforeEach(() => stopClock(engine.db, NOW_US));
afterEach(async () => {
  enableFaults("");
  await clearLedger();
});
afterAll(() => engine.close());

/** Accounts with ids 1 to `count`, each with 10 credits that expire in a second. */
async function createBalances(count: number): Promise<void> {
  await engine.db.query(
    `select credit_grant(lpad(to_hex(n), 32, '0')::uuid, 10, 'key ' || gen_random_uuid(), null,
       promptd_now() + interval '1 second') from generate_series(1, $1::int) n`,
    [count],
  );
}

/** The audit reads all accounts, so each test starts without any; only the owner of the journal can clear it. */
async function clearLedger(): Promise<void> {
  await engine.db.tx(async (tx) => {
    await tx.query("alter table credit_transfers disable trigger user");
    await tx.query("truncate credit_accounts, credit_grants, credit_holds, credit_transfers");
    await tx.query("alter table credit_transfers enable trigger user");
  });
}

const idOf = (n: number) => `00000000-0000-0000-0000-${n.toString(16).padStart(12, "0")}`;

async function balances(): Promise<{ empty: number; full: number }> {
  const [row] = await engine.db.query<{ empty: number; full: number }>(
    `select count(*) filter (where posted = 0) as empty, count(*) filter (where posted = 10) as full from credit_accounts`,
  );
  return row ?? { empty: 0, full: 0 };
}

/** A credit that no journal row explains. */
async function damage(...accounts: readonly number[]): Promise<void> {
  await engine.db.query("update credit_accounts set posted = posted + 1 where account_id = any ($1::uuid[])", [
    accounts.map(idOf),
  ]);
}

/** The database's transactions, and the options that each was started with. */
function recordOptions(seen: unknown[]): Database["tx"] {
  return (work, options) => {
    seen.push(options);
    return engine.db.tx(work, options);
  };
}

describe("a grant", () => {
  const usual = { amount: 10, reason: "a gift", idempotencyKey: "gift", expiresAt: "2030-01-01T00:00:00.000Z" };

  test("is granted once and then repeated, and a conflict names what was granted, until when, and when", async () => {
    const accountId = await engine.createAccount();
    const send = (change: Partial<typeof usual> = {}) => grantCredits(engine.db, { accountId, ...usual, ...change });
    expect([await send(), await send()]).toEqual([{ kind: "granted" }, { kind: "repeated" }]);
    expect(await send({ amount: 11 })).toEqual({
      kind: "conflict",
      used: { amount: 10, expiresAt: new Date(usual.expiresAt), at: new Date(NOW_US / 1_000) },
    });
    expect(await availableCredits(engine.db, accountId)).toBe(10);
    const journal = await engine.db.query("select idem, actor from credit_transfers where account_id = $1", [
      accountId,
    ]);
    expect(journal).toEqual([{ idem: "gift", actor: "a gift" }]);
  });
});

test("a grant or an expiry that fails before its commit changes nothing, and can be repeated", async () => {
  const accountId = idOf(1);
  const grant = () =>
    grantCredits(engine.db, { accountId, amount: 5, reason: null, idempotencyKey: "once", expiresAt: null });
  enableFaults("grant.before_commit:throw");
  await expect(grant()).rejects.toThrow("grant.before_commit");
  expect(await availableCredits(engine.db, accountId)).toBe(0);
  enableFaults("");
  expect(await grant()).toEqual({ kind: "granted" });
  await createBalances(1);
  await stopClock(engine.db, NOW_US + 1_000_000);
  enableFaults("expire.before_commit:throw");
  await expect(expireCredits(engine.db)).rejects.toThrow("expire.before_commit");
  const postedIs = (posted: number) =>
    expect(engine.db.query("select posted from credit_accounts")).resolves.toEqual([{ posted }]);
  await postedIs(15);
  enableFaults("");
  await expireCredits(engine.db);
  await postedIs(5);
});

test("an account that was never granted anything has 0 credits", async () => {
  expect(await availableCredits(engine.db, await engine.createAccount())).toBe(0);
});

test("what an account can spend is read by a statement that each connection plans once", async () => {
  const names: string[] = [];
  const pipelined: Database["pipelined"] = (statement, values) => {
    names.push(statement.name);
    return engine.db.pipelined(statement, values);
  };
  await availableCredits({ ...engine.db, pipelined }, await engine.createAccount());
  expect(names).toEqual(["credits_available"]);
});

test("the expiry reaches every account whose credits have expired, however many, and none before its time", async () => {
  await createBalances(1_002);
  await expireCredits(engine.db);
  expect(await balances()).toEqual({ empty: 0, full: 1_002 });
  await stopClock(engine.db, NOW_US + 1_000_000);
  await createBalances(1); // for the first account; it writes off what has expired, and these credits stay
  await expireCredits(engine.db);
  expect(await balances()).toEqual({ empty: 1_001, full: 1 });
});

test("the expiry skips a locked account, and reports it", async () => {
  await createBalances(1_002);
  await stopClock(engine.db, NOW_US + 1_000_000);
  await engine.db.tx(async (tx) => {
    await tx.query("set local idle_in_transaction_session_timeout = 0"); // a thousand take long on a busy machine
    await tx.query("select 1 from credit_accounts where account_id = $1 for update", [idOf(1)]);
    const message = "The expired credits of 1 account could not be written to the journal.";
    await expect(expireCredits(engine.db)).rejects.toThrow(message);
    expect(await balances()).toEqual({ empty: 1_001, full: 1 });
  });
  await expireCredits(engine.db);
  expect(await balances()).toEqual({ empty: 1_002, full: 0 });
});

/** A database that fails to expire these accounts, and records whose expiry was requested. */
function failing(code: string, ...accounts: readonly number[]): { readonly db: Database; readonly seen: string[] } {
  const seen: string[] = [];
  const query: Database["query"] = async (statement, values = []) => {
    if (typeof statement === "string" && statement.includes("credit_expire(")) {
      seen.push(String(values[0]));
      if (accounts.map(idOf).includes(String(values[0]))) throw Object.assign(new Error("it did not"), { code });
    }
    return engine.db.query<never>(statement, values);
  };
  return { db: { ...engine.db, query }, seen };
}

test("an expiry that fails for several accounts tries each once, counts them, and reports the first cause", async () => {
  await createBalances(4);
  await stopClock(engine.db, NOW_US + 1_000_000);
  const { db, seen } = failing("55P03", 1, 3, 4);
  const failure = await expireCredits(db).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    message: "The expired credits of 3 accounts could not be written to the journal.",
    cause: { code: "55P03" },
  });
  expect(seen).toEqual([1, 2, 3, 4].map(idOf));
});

test("an expiry whose connection is lost ends there", async () => {
  await createBalances(3);
  await stopClock(engine.db, NOW_US + 1_000_000);
  const { db, seen } = failing("ECONNRESET", 2);
  await expect(expireCredits(db)).rejects.toThrow("it did not");
  expect(seen).toEqual([1, 2].map(idOf));
});

test("an expiry ends when the process stops, and the next run continues", async () => {
  await createBalances(3);
  await stopClock(engine.db, NOW_US + 1_000_000);
  const stop = new AbortController();
  const query: Database["query"] = async (statement, values) => {
    const rows = await engine.db.query<never>(statement, values);
    if (typeof statement === "string" && statement.includes("credit_expire(")) stop.abort();
    return rows;
  };
  await expireCredits({ ...engine.db, query }, stop.signal);
  expect(await balances()).toEqual({ empty: 1, full: 2 });
  await expireCredits(engine.db);
  expect(await balances()).toEqual({ empty: 3, full: 0 });
});

describe("the audit of everything", () => {
  test("counts the accounts and describes each fault, in the order of accounts", async () => {
    await createBalances(3);
    expect(await checkLedger(engine.db)).toEqual({ accounts: 3, mismatches: [], frozen: [] });
    await damage(3, 2);
    const { accounts, mismatches } = await checkLedger(engine.db);
    expect(accounts).toBe(3);
    expect(mismatches.map(({ accountId, fault, runId }) => [accountId, fault, runId])).toEqual([
      [idOf(2), "balance", null],
      [idOf(3), "balance", null],
    ]);
    for (const { detail } of mismatches) expect(detail).not.toBe("");
  });

  test("has no time limit", async () => {
    const seen: unknown[] = [];
    await checkLedger({ ...engine.db, tx: recordOptions(seen) });
    expect(seen).toEqual([{ statementTimeoutMs: 0 }]);
  });
});

test("the audit of everything sees one moment: its report has no half-finished changes", async () => {
  await createBalances(2);
  const tx: typeof engine.db.tx = (work, options) =>
    engine.db.tx((inner) => {
      const query: typeof inner.query = async (statement, values) => {
        const text = typeof statement === "string" ? statement : statement.text;
        if (text.startsWith("select fault")) await damage(2);
        return inner.query(statement, values);
      };
      return work({ ...inner, query });
    }, options);
  expect(await checkLedger({ ...engine.db, tx })).toEqual({ accounts: 2, mismatches: [], frozen: [] });
  expect((await checkLedger(engine.db)).mismatches).toHaveLength(1);
});

describe("the periodic audit", () => {
  const logged: [account: string, text: string][] = [];
  const log = {
    ...createLog("silent", "stderr"),
    error: ({ accountId }: { readonly accountId: string }, text: string) => void logged.push([accountId, text]),
  } as unknown as Log;
  const SENTENCE = "the ledger does not add up; the account accepts no new paid runs";
  beforeEach(() => void logged.splice(0));

  async function frozen(): Promise<string[]> {
    const rows = await engine.db.query<{ id: string }>(
      "select account_id as id from credit_accounts where frozen_at is not null order by account_id",
    );
    return rows.map((row) => row.id);
  }

  test.each([
    ["a batch ends with the last account", 500],
    ["the last batch has one account", 501],
  ])("audits every account once per round and then starts again, if %s", async (_, count) => {
    await createBalances(count);
    const audit = createAudit(engine.db, log);
    await audit();
    await audit();
    expect([logged, await frozen()]).toEqual([[], []]);
    await damage(1, count);
    const rounds: string[][] = [];
    for (let i = 0; i < 4; i += 1) {
      await audit();
      rounds.push(logged.splice(0).map(([account]) => account));
    }
    const [first, last] = [idOf(1), idOf(count)];
    expect(rounds).toEqual(count === 500 ? [[first, last], [], [first, last], []] : [[first], [last], [first], [last]]);
    expect(await frozen()).toEqual([first, last]);
  });

  /** A database for which these accounts are too many for one audit. */
  function slowing(isSlow: (accounts: readonly string[]) => boolean): Database {
    const tooLong = Object.assign(new Error("canceling statement due to statement timeout"), { code: "57014" });
    const slowly = (inner: Queryable["query"]): Queryable["query"] => {
      return async (statement, values = []) => {
        const [accounts] = values;
        if (Array.isArray(accounts) && isSlow(accounts as string[])) throw tooLong;
        return inner(statement, values);
      };
    };
    const { db } = engine;
    const tx: Database["tx"] = (work, options) =>
      db.tx((inner) => work({ ...inner, query: slowly((text, values) => inner.query(text, values)) }), options);
    return { ...db, query: slowly((text, values) => db.query(text, values)), tx };
  }

  test("audits fewer accounts if many take too long, and never the same accounts twice", async () => {
    await createBalances(501);
    await damage(1, 250, 501);
    const audit = createAudit(
      slowing((accounts) => accounts.length > 300),
      log,
    );
    for (let i = 0; i < 3; i += 1) await audit();
    expect(await frozen()).toEqual([idOf(1), idOf(250), idOf(501)]);
  });

  test("continues with the accounts left out when the last batch of a round was halved", async () => {
    await createBalances(400);
    await damage(400);
    const audit = createAudit(
      slowing((accounts) => accounts.length > 300),
      log,
    );
    await audit();
    expect(await frozen()).toEqual([]);
    await audit();
    expect(await frozen()).toEqual([idOf(400)]);
  });

  test("skips no account when the process stops while a batch takes too long", async () => {
    await createBalances(2);
    await damage(1);
    const stop = new AbortController();
    const warned: unknown[] = [];
    const audit = createAudit(
      slowing((accounts) => {
        const isFirst = !stop.signal.aborted;
        stop.abort();
        return isFirst && accounts.length === 2;
      }),
      { ...log, warn: (fields: unknown) => void warned.push(fields) },
    );
    await expect(audit(stop.signal)).rejects.toThrow("statement timeout");
    await audit();
    expect([await frozen(), warned]).toEqual([[idOf(1)], []]);
  });

  test.each([1, 2])(
    "fails for any reason other than time, and starts with the same accounts again, for %i accounts",
    async (count) => {
      await createBalances(count);
      await damage(1);
      let tries = 0;
      const tx: Database["tx"] = (work, options) => {
        tries += 1;
        if (tries === 1) throw Object.assign(new Error("lost"), { code: "ECONNRESET" });
        return engine.db.tx(work, options);
      };
      const audit = createAudit({ ...engine.db, tx }, log);
      await expect(audit()).rejects.toThrow("lost");
      expect(tries).toBe(1);
      await audit();
      expect(await frozen()).toEqual([idOf(1)]);
    },
  );

  test("skips an account that alone takes too long, and logs which", async () => {
    await createBalances(4);
    await damage(3);
    const warned: unknown[] = [];
    const hearing = { ...log, warn: (...entry: unknown[]) => void warned.push(entry) } as unknown as Log;
    const audit = createAudit(
      slowing((accounts) => accounts.includes(idOf(2))),
      hearing,
    );
    for (let i = 0; i < 4; i += 1) await audit();
    const text = "the audit of an account took too long and was skipped";
    expect([await frozen(), warned]).toEqual([[idOf(3)], [[{ accountId: idOf(2) }, text]]]);
  });

  test("has a longer time limit than other statements", async () => {
    await createBalances(1);
    const seen: unknown[] = [];
    await createAudit({ ...engine.db, tx: recordOptions(seen) }, log)();
    expect(seen).toEqual([{ statementTimeoutMs: 30_000 }]);
  });

  test("logs each fault, and freezes only the accounts that have faults", async () => {
    await createBalances(3);
    await damage(2);
    await createAudit(engine.db, log)();
    expect(logged).toEqual([[idOf(2), SENTENCE]]);
    expect(await frozen()).toEqual([idOf(2)]);
  });

  test("gives each kind of fault once in the reason for freezing an account", async () => {
    await createBalances(1);
    const accountId = idOf(1);
    await engine.db.query(
      "select credit_hold_for($1, gen_random_uuid(), 1, null, null, null, null) from generate_series(1, 2)",
      [accountId],
    );
    await engine.db.query("update credit_grants set remaining = 50");
    await createAudit(engine.db, log)();
    const { frozen: reason } = await findStanding(engine.db, accountId);
    expect(reason).toMatchObject({ reason: "the audit found: hold without a run, grants above the balance" });
    expect(logged).toHaveLength(3);
  });
});
