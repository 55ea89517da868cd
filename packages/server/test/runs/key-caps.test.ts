/** The monthly cap of a key: what its runs hold and have paid in a calendar month never exceeds it. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createApiKey, listKeys, rollApiKey, updateApiKey, type KeyTerms } from "../../src/accounts/index.ts";
import { adjustCredits } from "../../src/credits/index.ts";
import { openEngine, stopClock, type Engine } from "./engine-fixture.ts";
import type { CapOrder } from "./key-cap-process.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

interface KeyOfAccount {
  readonly accountId: string;
  readonly keyId: string;
}

async function createKey(credits: number, terms: Partial<KeyTerms>): Promise<KeyOfAccount> {
  const accountId = await engine.createAccount(credits);
  const { keyId } = await createApiKey(engine.db, engine.newId, { name: "test", ...terms, accountId });
  return { accountId, keyId };
}

async function create({ accountId, keyId }: KeyOfAccount, hold: number | null): Promise<string> {
  return (await engine.create(accountId, { hold, keyId })).kind;
}

async function used({ accountId, keyId }: KeyOfAccount): Promise<number | undefined> {
  return (await listKeys(engine.db, accountId)).find((key) => key.keyId === keyId)?.usedThisMonth;
}

async function finishAll(credits: number, ok = true): Promise<void> {
  const worker = await engine.registerWorker();
  await engine.finish(worker, await engine.claim(worker), { credits, ok });
}

const MONTH_END_US = Date.UTC(2027, 0, 31, 23, 59, 59) * 1_000;

test("64 concurrent creates in four processes never exceed a cap, and leave no room unused", async () => {
  const key = await createKey(100_000, { monthlyCap: 205 });
  const run: CapOrder["run"] = engine.runToCreate(key.accountId, { keyId: key.keyId, hold: 10 });
  const children = Array.from({ length: 4 }, () => {
    const child = fork(join(import.meta.dirname, "key-cap-process.ts"), { execArgv: ["--conditions=promptd-source"] });
    child.send({ databaseUrl: engine.url, run, count: 16 } satisfies CapOrder);
    return child;
  });
  try {
    await Promise.all(children.map((child) => once(child, "message")));
    const ends = children.map((child) => once(child, "message"));
    for (const child of children) child.send("go");
    const kinds = (await Promise.all(ends)).flatMap(([outcomes]) => outcomes as string[]);
    expect(Object.groupBy(kinds, (kind) => kind)).toEqual({
      created: Array(20).fill("created"),
      capped: Array(44).fill("capped"),
    });
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
  expect([await used(key), await engine.audit()]).toEqual([200, []]);
});

describe("a cap", () => {
  test("is used to the last credit, and credits that a run does not pay are available again", async () => {
    const key = await createKey(1_000, { monthlyCap: 10 });
    expect([await create(key, 7), await create(key, 4), await create(key, 3), await create(key, 1)]).toEqual([
      "created",
      "capped",
      "created",
      "capped",
    ]);
    await finishAll(2);
    expect(await used(key)).toBe(4);
    expect([await create(key, 7), await create(key, 6)]).toEqual(["capped", "created"]);
    await finishAll(6, false); // a failed run costs nothing
    expect([await used(key), await engine.audit()]).toEqual([4, []]);
  });

  test("of 0 still allows free runs", async () => {
    const key = await createKey(1_000, { monthlyCap: 0 });
    expect([await create(key, 1), await create(key, null)]).toEqual(["capped", "created"]);
  });

  test("resets with the month in UTC; a later payment by an old run counts for the month of its hold", async () => {
    await stopClock(engine.db, MONTH_END_US);
    const key = await createKey(1_000, { monthlyCap: 10 });
    const { accountId, keyId } = key;
    expect(await create(key, 10)).toBe("created");
    expect(await engine.create(accountId, { hold: 3, keyId })).toEqual({
      kind: "capped",
      left: 0,
      opensAt: new Date("2027-02-01T00:00:00Z"),
    });
    await stopClock(engine.db, MONTH_END_US + 1_000_000);
    expect([await used(key), await create(key, 3)]).toEqual([0, "created"]);
    await finishAll(1);
    const months = "select month::text, used from credit_budgets where account_id = $1 order by month";
    expect(await engine.db.query(months, [accountId])).toEqual([
      { month: "2027-01-01", used: 1 },
      { month: "2027-02-01", used: 1 },
    ]);
  });

  test("that is set, raised, or lowered includes earlier runs, and applies to the next create", async () => {
    const key = await createKey(1_000, {});
    expect(await create(key, 8)).toBe("created");
    await updateApiKey(engine.db, key, { monthlyCap: 9 });
    expect([await create(key, 2), await create(key, 1)]).toEqual(["capped", "created"]);
    await updateApiKey(engine.db, key, { monthlyCap: 5 });
    expect(await engine.create(key.accountId, { hold: 1, keyId: key.keyId })).toMatchObject({
      kind: "capped",
      left: 0,
    });
    await updateApiKey(engine.db, key, { monthlyCap: null });
    expect(await create(key, 100)).toBe("created");
  });

  test("is shared by a key and the key it was rolled into, and separate for every other key", async () => {
    const key = await createKey(1_000, { monthlyCap: 10 });
    expect(await create(key, 6)).toBe("created");
    const rolled = await rollApiKey(engine.db, engine.newId, key, 3_600);
    const next = { accountId: key.accountId, keyId: rolled?.keyId ?? "" };
    const beside = await createApiKey(engine.db, engine.newId, { ...key, name: "beside", monthlyCap: 10 });
    expect([await create(next, 5), await create(key, 5), await create(next, 4)]).toEqual([
      "capped",
      "capped",
      "created",
    ]);
    expect(await create({ accountId: key.accountId, keyId: beside.keyId }, 10)).toBe("created");
    expect([await used(key), await used(next)]).toEqual([10, 10]);
  });

  test("is checked before credits, and a refusal for lack of credits uses nothing of it", async () => {
    const key = await createKey(5, { monthlyCap: 10 });
    expect([await create(key, 11), await create(key, 6), await used(key)]).toEqual(["capped", "no_credits", 0]);
    expect(await create(key, 5)).toBe("created");
  });
});

test("a budget that its holds do not explain is a ledger fault, and an adjustment of 0 repairs it", async () => {
  const key = await createKey(50, {});
  expect([await create(key, 5), await create(key, 2)]).toEqual(["created", "created"]);
  await finishAll(1);
  for (const [damage, ...said] of [
    ["update credit_budgets set used = 4", "counts 4, say 2"],
    ["delete from credit_budgets", "counts 0, say 2"],
    ["update credit_budgets set month = month - 400", "counts 0, say 2", "counts 2, say 0"],
  ]) {
    await engine.db.query(`${damage} where account_id = $1`, [key.accountId]);
    const faults = await engine.audit();
    expect(faults.map(({ fault, accountId }) => [fault, accountId])).toEqual(
      said.map(() => ["budget of a key", key.accountId]),
    );
    const words = faults.map(({ detail }) => detail.replace(/^.* (counts \d+) .* (say \d+)$/, "$1, $2"));
    expect(words.toSorted((a, b) => a.localeCompare(b))).toEqual(said);
    await adjustCredits(engine.db, { accountId: key.accountId, amount: 0, reason: "a test" });
    expect([await used(key), await engine.audit()]).toEqual([2, []]);
  }
  const nothing = adjustCredits(engine.db, { accountId: key.accountId, amount: 0, reason: "a test" });
  await expect(nothing).rejects.toThrow("changes nothing");
});

test("an adjustment removes what is counted for a key without holds, down to one credit, and accepts a 0", async () => {
  const key = await createKey(50, {});
  expect(await create(key, 5)).toBe("created");
  const beside = await createApiKey(engine.db, engine.newId, { ...key, name: "beside" });
  const { accountId } = key;
  const count = (credits: number) =>
    engine.db.query(
      "insert into credit_budgets (account_id, budget_id, month, used) select account_id, $2, month, $3 from credit_budgets where account_id = $1",
      [accountId, beside.keyId, credits],
    );
  const adjust = () => adjustCredits(engine.db, { accountId, amount: 0, reason: "a test" });
  await count(1);
  await adjust();
  expect([await used(key), await used({ accountId, keyId: beside.keyId }), await engine.audit()]).toEqual([5, 0, []]);
  await count(0);
  await expect(adjust()).rejects.toThrow("changes nothing");
});
