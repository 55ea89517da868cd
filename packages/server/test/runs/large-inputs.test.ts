/** Runs with large inputs delay no other run, however slow the connection to the database is. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { createClaimer } from "../../src/runs/work/claim-loop.ts";
import { createInputsReader, type ClaimedRun } from "../../src/runs/work/claim.ts";
import { createMany, openEngine, type Engine } from "./engine-fixture.ts";
import { until } from "../support/promptd-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { createTestWorker } from "./worker-fixture.ts";

const LARGE_BYTES = 1_000_000;

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

/** Repeated random digits: a database stores them compactly, but sends them whole. */
async function giveInputs(runIds: readonly string[], bytes: number): Promise<void> {
  const text = `update runs set inputs = json_build_object('textInputs', json_build_object('text', repeat(md5(id::text), $2 / 32)))
     where id = $1`;
  for (const runId of runIds) await engine.db.query(text, [runId, bytes]); // all in one take a slow machine too long
}

async function statesOf(runIds: readonly string[]): Promise<string[]> {
  const rows = await engine.db.query<{ status: string }>("select status from runs where id = any($1::uuid[])", [
    runIds,
  ]);
  return rows.map((row) => row.status);
}

/** Claims like a process until all these runs have begun. @returns how many runs each claim requested. */
async function claimThrough(db: Database, count: number): Promise<number[]> {
  const workerId = await engine.registerWorker();
  const begun: ClaimedRun[] = [];
  const asked: number[] = [];
  const claimer = createClaimer({
    db: {
      ...db,
      query: (statement, values) => {
        if (typeof statement !== "string" && statement.name === "run_claim") asked.push(Number(values?.[2]));
        return db.query(statement, values);
      },
    },
    log: createLog("silent"),
    lease: { workerId, isHeld: true, start: async () => {}, stop: async () => {} },
    leaseMs: 60_000,
    free: () => count - begun.length,
    begin: (run) => begun.push(run),
    known: () => begun,
  });
  await until(async () => {
    claimer.wake();
    await claimer.untilIdle();
    return begun.length === count;
  });
  return asked;
}

describe("runs with inputs of a megabyte", () => {
  test("do not block another account's run, even if the connection cannot transfer them in time", async () => {
    const proxy = await startTcpProxy(engine.url);
    const large = await createMany(engine, await engine.createAccount(), 40);
    await giveInputs(large, LARGE_BYTES);
    const small = await engine.createRun(await engine.createAccount());
    proxy.throttle(5_000_000); // 40 MB take 8 s, of the 5 s of a statement
    const db = await openDatabase({ url: proxy.url, role: "slow", log: createLog("silent"), poolMax: 8 });
    const worker = createTestWorker(engine, { db, concurrency: 50, findVersion: async () => null, leaseMs: 6_000 });
    await worker.start();
    await until(async () => (await engine.stateOf(small)).status === "failed");
    // They are claimed in their turn as well.
    await until(async () => (await statesOf(large)).includes("failed"));
    expect((await engine.stateOf(small)).fail_reason).toBe("version_missing");
    await worker.drain(0);
    await db.close();
    await proxy.close();
  });

  test("are claimed without their inputs, which are read when they begin", async () => {
    const [large = "", small = ""] = await createMany(engine, await engine.createAccount(), 2);
    await giveInputs([large], LARGE_BYTES);
    const runs = await engine.claim(await engine.registerWorker());
    const read = createInputsReader(engine.db);
    const sizes = await Promise.all(
      runs.map(async (run) => ({
        isLarge: run.runId === large,
        claimed: JSON.stringify(run.inputs).length,
        read: JSON.stringify(await read(run, AbortSignal.timeout(5_000))).length,
      })),
    );
    expect(sizes).toContainEqual({ isLarge: true, claimed: "null".length, read: expect.closeTo(LARGE_BYTES, -3) });
    expect(sizes).toContainEqual({ isLarge: false, claimed: "{}".length, read: "{}".length });
    expect(runs.map((run) => run.runId)).toContain(small);
  });

  test("are read one at a time, so that each has the whole bandwidth for the duration of its statement", async () => {
    await giveInputs(await createMany(engine, await engine.createAccount(), 5), LARGE_BYTES);
    const runs = await engine.claim(await engine.registerWorker());
    const readTogether: number[] = [];
    const read = createInputsReader({
      query: (statement, values) => {
        readTogether.push(((values?.[1] ?? []) as readonly string[]).length);
        return engine.db.query(statement, values);
      },
    });
    await Promise.all(runs.map((run) => read(run, AbortSignal.timeout(5_000))));
    expect(readTogether).toEqual([1, 1, 1, 1, 1]);
  });
});

describe("a claim that is too large for the database", () => {
  test.each([
    ["takes too long", { code: "57014" }],
    ["loses its connection", { code: "ECONNRESET" }],
  ])("and %s requests half as many runs, and more after each success", async (_what, loss) => {
    await createMany(engine, await engine.createAccount(), 12);
    const db: Database = {
      ...engine.db,
      query: (statement, values) =>
        typeof statement !== "string" && statement.name === "run_claim" && Number(values?.[2]) > 2
          ? Promise.reject(Object.assign(new Error("too much"), loss))
          : engine.db.query(statement, values),
    };
    const asked = await claimThrough(db, 12);
    expect(asked.slice(0, 5)).toEqual([12, 6, 3, 2, 4]);
  });
});
