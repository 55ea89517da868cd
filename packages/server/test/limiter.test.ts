import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApiKey, createDoor, revokeApiKey, type Door } from "../src/accounts/index.ts";
import { systemClock } from "../src/platform/clock.ts";
import { openDatabase, type Database } from "../src/platform/database.ts";
import { createLog } from "../src/platform/log.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";
import type { FloodOrder, FloodReport } from "./limiter-process.ts";

const WINDOW_US = 1_000_000;
const log = createLog("error", "stderr");
let engine: Engine;

/** Every admission is noted with the time the limiter itself counted it under. */
beforeAll(async () => {
  engine = await openEngine();
  await engine.db.query(`
    create table admissions (scope_id uuid not null, us bigint not null);
    create function note_admissions() returns trigger language plpgsql as $$ begin
      insert into admissions select new.scope_id, t
        from unnest(new.times[cardinality(new.times) - new.admitted + 1 : ]) t;
      return null;
    end $$;
    create trigger note_admissions after insert or update on rate_rings for each row execute function note_admissions()`);
});
afterAll(() => engine.close());

async function createKeys(count: number): Promise<{ accountId: string; apiKeys: string[]; keyIds: string[] }> {
  const accountId = await engine.createAccount();
  const keys = [];
  for (let i = 0; i < count; i += 1)
    keys.push(await createApiKey(engine.db, engine.newId, { accountId, name: "test" }));
  return { accountId, apiKeys: keys.map((key) => key.apiKey), keyIds: keys.map((key) => key.keyId) };
}

async function admissionsOf(accountId: string): Promise<number[]> {
  const rows = await engine.db.query<{ us: number }>("select us from admissions where scope_id = $1 order by us", [
    accountId,
  ]);
  return rows.map((row) => row.us);
}

/** The most admissions of any window (t - 1 s, t]. */
function worstWindow(times: readonly number[]): number {
  return Math.max(0, ...times.map((end) => times.filter((time) => time > end - WINDOW_US && time <= end).length));
}

function openDoor(db: Database = engine.db): Door {
  return createDoor({ db, clock: systemClock, log, limitPerSecond: 5, scope: "account", plans: true });
}

async function knock(door: Door, apiKey: string): Promise<"admitted" | number> {
  const admission = await door.enter({ authorization: [`Bearer ${apiKey}`], address: "127.0.0.1" });
  return admission.kind === "admitted" ? "admitted" : admission.problem.httpStatus;
}

async function floodFromProcesses(processes: number, order: Omit<FloodOrder, "databaseUrl">): Promise<FloodReport[]> {
  const children = Array.from({ length: processes }, () => {
    const child = fork(join(import.meta.dirname, "limiter-process.ts"), { execArgv: ["--conditions=promptd-source"] });
    child.send({ ...order, databaseUrl: engine.url });
    return child;
  });
  await Promise.all(children.map((child) => once(child, "message")));
  const reports = children.map(async (child) => {
    const report = once(child, "message");
    child.send("go");
    return (await report)[0] as FloodReport;
  });
  const ended = children.map((child) => once(child, "exit"));
  const all = await Promise.all(reports);
  await Promise.all(ended);
  return all;
}

describe("the limiter", () => {
  test("admits at most five in any second, from four processes with eight floods each over twenty keys", async () => {
    const { accountId, apiKeys } = await createKeys(20);
    const reports = await floodFromProcesses(4, { apiKeys, forMs: 3_200, floods: 8 });
    const times = await admissionsOf(accountId);
    expect(times).toHaveLength(reports.reduce((sum, report) => sum + report.admitted, 0));
    expect(worstWindow(times)).toBe(5);
    expect(times.length).toBeGreaterThanOrEqual(15); // and what is allowed is given: a flood loses nothing by flooding
    expect(Math.min(...reports.map((report) => report.refused))).toBeGreaterThan(0);
  }, 60_000);

  test("admits exactly five of a hundred requests that arrive together, and tells the others to wait a second", async () => {
    const { apiKeys } = await createKeys(1);
    const door = openDoor();
    const admissions = await Promise.all(
      Array.from({ length: 100 }, () => door.enter({ authorization: [`Bearer ${apiKeys[0]}`], address: "" })),
    );
    expect(admissions.filter((admission) => admission.kind === "admitted")).toHaveLength(5);
    for (const admission of admissions) {
      if (admission.kind === "admitted") continue;
      expect(admission.problem).toMatchObject({ httpStatus: 429, headers: { "retry-after": "1" } });
      expect(admission.remaining).toBe(0);
    }
  });

  test("counts each account by itself, also inside one batch", async () => {
    const [one, two] = [await createKeys(2), await createKeys(1)];
    const door = openDoor();
    const keys = Array.from({ length: 30 }, (_, i) => [...one.apiKeys, ...two.apiKeys][i % 3] ?? "");
    await Promise.all(keys.map((key) => knock(door, key)));
    expect(await admissionsOf(one.accountId)).toHaveLength(5);
    expect(await admissionsOf(two.accountId)).toHaveLength(5);
  });

  test("admits a caller of five a second at every request, on a clock without jitter", async () => {
    const { apiKeys } = await createKeys(1);
    await engine.db.query("create table pretended (us bigint)");
    await engine.db.query("insert into pretended values (1000000000000000)");
    await engine.db.query(`create or replace function promptd_now() returns timestamptz language sql volatile
      as $$ select to_timestamp(us / 1000000.0) from pretended $$`);
    const door = openDoor();
    const answers = [];
    for (let i = 0; i < 50; i += 1) {
      await engine.db.query("update pretended set us = us + 200000");
      answers.push(await knock(door, apiKeys[0] ?? ""));
    }
    await engine.shiftClock(0);
    expect(answers.filter((answer) => answer === "admitted")).toHaveLength(50);
  });

  // Repeated because a busy machine may keep a process waiting for longer than any limiter could forgive.
  test("admits at least 99 % of a real caller's five a second, whose timers jitter", { retry: 3 }, async () => {
    const { accountId, apiKeys } = await createKeys(1);
    const door = openDoor();
    const startMs = performance.now();
    const answers: Promise<unknown>[] = [];
    for (let i = 0; i < 30; i += 1) {
      await wait(Math.max(0, startMs + i * 200 - performance.now()));
      answers.push(knock(door, apiKeys[0] ?? ""));
    }
    const admitted = (await Promise.all(answers)).filter((answer) => answer === "admitted");
    expect(admitted.length / answers.length).toBeGreaterThanOrEqual(0.99);
    expect(worstWindow(await admissionsOf(accountId))).toBeLessThanOrEqual(5);
  });

  test("recovers within a second when the database's clock steps back an hour", async () => {
    const { apiKeys } = await createKeys(1);
    const key = apiKeys[0] ?? "";
    const door = openDoor();
    await engine.shiftClock(3_600);
    for (let i = 0; i < 5; i += 1) expect(await knock(door, key)).toBe("admitted");
    expect(await knock(door, key)).toBe(429);
    await engine.shiftClock(0);
    expect(await knock(door, key)).toBe("admitted");
  });
});

describe("a key", () => {
  test("revoked by one process is refused by the next request to another", async () => {
    const { apiKeys, keyIds } = await createKeys(1);
    const there = await openDatabase({ url: engine.url, role: "other", log, poolMax: 2 });
    try {
      const door = openDoor(there);
      expect(await knock(door, apiKeys[0] ?? "")).toBe("admitted");
      await revokeApiKey(engine.db, keyIds[0] ?? "");
      expect(await knock(door, apiKeys[0] ?? "")).toBe(401);
    } finally {
      await there.close();
    }
  });

  test("is admitted by no statement that starts after its revocation committed, in a flood of four processes", async () => {
    const { accountId, apiKeys, keyIds } = await createKeys(1);
    const flood = floodFromProcesses(4, { apiKeys, forMs: 2_500, floods: 4 });
    await until(async () => (await admissionsOf(accountId)).length >= 6);
    await revokeApiKey(engine.db, keyIds[0] ?? "");
    const [{ us }] = (await engine.db.query<{ us: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us",
    )) as [{ us: number }];
    await flood;
    // A statement that had begun before the commit may still be counted under a time shortly after it.
    const late = (await admissionsOf(accountId)).filter((time) => time > us + 250_000);
    expect(late).toEqual([]);
  }, 60_000);

  test("costs a revoked or unknown caller nothing: neither is counted", async () => {
    const { accountId, apiKeys, keyIds } = await createKeys(2);
    await revokeApiKey(engine.db, keyIds[0] ?? "");
    const door = openDoor();
    for (let i = 0; i < 8; i += 1) expect(await knock(door, apiKeys[0] ?? "")).toBe(401);
    expect(await admissionsOf(accountId)).toEqual([]);
    expect(await knock(door, apiKeys[1] ?? "")).toBe("admitted");
  });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 25_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error("the awaited condition never came true");
    await wait(20);
  }
}
