/** Waits for runs with large outputs that end together: each gets its response, and none delays others. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { WaitingHub } from "../../src/runs/wait/wait-for-run.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";

const MIB = 2 ** 20;
let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

/** What the hub reads: over the pipelined connections that every request needs, and through the pool. */
interface Reads {
  readonly pipelinedBytes: number[];
  readonly pooled: { readonly runIds: readonly string[]; readonly bytes: number }[];
}

type Gate = (runIds: readonly string[]) => Promise<void> | void;

/** @param gate awaited before each read through the pool: to delay it there, or to make it fail. */
function watched(gate: Gate = () => {}): { readonly db: Database; readonly reads: Reads } {
  const reads: Reads = { pipelinedBytes: [], pooled: [] };
  const bytesOf = (rows: readonly object[]) => JSON.stringify(rows).length;
  const pipelined: Database["pipelined"] = async <Row extends object>(...args: Parameters<Database["pipelined"]>) => {
    const rows = await engine.db.pipelined<Row>(...args);
    reads.pipelinedBytes.push(bytesOf(rows));
    return rows;
  };
  const query: Database["query"] = async <Row extends object>(...args: Parameters<Database["query"]>) => {
    const runIds = args[1]?.[1] as readonly string[];
    await gate(runIds);
    const rows = await engine.db.query<Row>(...args);
    reads.pooled.push({ runIds, bytes: bytesOf(rows) });
    return rows;
  };
  return { db: { ...engine.db, pipelined, query }, reads };
}

/** It never polls by itself. */
const hubOn = (db: Database) => new WaitingHub(db, createLog("silent"), Infinity);
const inAMinute = () => performance.now() + 60_000;

async function createRuns(count: number) {
  const accountId = await engine.createAccount();
  const runs = Array.from({ length: count }, async () => ({ accountId, runId: await engine.createRun(accountId) }));
  return Promise.all(runs);
}

/** Ends these runs in one commit, each with a text of the given number of bytes. */
async function endTogether(ends: readonly { readonly runId: string; readonly bytes: number }[]): Promise<void> {
  await engine.db.query(
    `update runs set status = 'succeeded', started_at = promptd_now(), finished_at = promptd_now(),
       outputs = json_build_array(json_build_object('type', 'text', 'data', repeat('x', d.bytes)))
     from unnest($1::uuid[], $2::int[]) d (id, bytes) where runs.id = d.id`,
    [ends.map((end) => end.runId), ends.map((end) => end.bytes)],
  );
}

test("runs that end together all get responses, the small one first, in parts and not on the connections that requests need", async () => {
  const { db, reads } = watched();
  const runs = await createRuns(15);
  const hub = hubOn(db);
  const answered: number[] = [];
  const waits = runs.map((run, i) => {
    const { finished } = hub.wait({ ...run, untilMs: inAMinute() });
    void finished.then(() => answered.push(i));
    return finished;
  });
  const sizes = runs.map((_, i) => (i === 14 ? 10 : i === 0 ? 9 * MIB : 1.5 * MIB));
  await endTogether(runs.map(({ runId }, i) => ({ runId, bytes: sizes[i] ?? 0 })));
  hub.wake(runs.map(({ runId }) => runId));
  const finals = await Promise.all(waits);
  expect(finals.map((run) => run?.runId)).toEqual(runs.map(({ runId }) => runId));
  expect(finals.map((run) => JSON.stringify(run?.outputs).length > 1.4 * MIB)).toEqual(sizes.map((size) => size > 10));
  expect([answered[0], answered.at(-1)]).toEqual([14, 0]); // the smallest and the largest
  expect(reads.pipelinedBytes).toHaveLength(1); // one poll showed which runs are final
  expect(Math.max(...reads.pipelinedBytes)).toBeLessThan(4.1 * MIB);
  expect(reads.pooled.filter(({ runIds, bytes }) => runIds.length > 1 && bytes > 4.1 * MIB)).toEqual([]);
});

test("a run whose outputs take too long does not affect the runs that were read with it", async () => {
  const slow: string[] = [];
  const { db, reads } = watched((runIds) => {
    const timeout = Object.assign(new Error("canceling statement due to statement timeout"), { code: "57014" });
    if (runIds.length > 1 && runIds.some((runId) => slow.includes(runId))) throw timeout;
  });
  const runs = await createRuns(40);
  slow.push(runs.at(-1)?.runId ?? ""); // the first ones are answered by the poll itself
  const hub = hubOn(db);
  const waits = runs.map((run) => hub.wait({ ...run, untilMs: inAMinute() }).finished);
  await endTogether(runs.map(({ runId }) => ({ runId, bytes: 150_000 })));
  hub.wake(runs.map(({ runId }) => runId));
  expect((await Promise.all(waits)).map((run) => run?.runStatus)).toEqual(runs.map(() => "succeeded"));
  expect(reads.pooled.some(({ runIds }) => runIds.length === 1 && runIds[0] === slow[0])).toBe(true);
});

test("outputs for which nobody waits any longer are not read", async () => {
  const runs = await createRuns(4);
  const waits: ReturnType<WaitingHub["wait"]>[] = [];
  const { db, reads } = watched(() => waits.slice(1).forEach((wait) => wait.cancel()));
  const hub = hubOn(db);
  waits.push(...runs.map((run) => hub.wait({ ...run, untilMs: inAMinute() })));
  await endTogether(runs.map(({ runId }, i) => ({ runId, bytes: (5 + i) * MIB })));
  hub.wake(runs.map(({ runId }) => runId));
  const finals = await Promise.all(waits.map(({ finished }) => finished));
  expect(finals.map((run) => run?.runStatus)).toEqual(["succeeded", undefined, undefined, undefined]);
  expect(reads.pooled.map(({ runIds }) => runIds)).toEqual([[runs[0]?.runId]]);
});

test("a shutdown ends the reading", async () => {
  const runs = await createRuns(4);
  const { db, reads } = watched(() => hub.drain());
  const hub = hubOn(db);
  const waits = runs.map((run) => hub.wait({ ...run, untilMs: inAMinute() }).finished);
  await endTogether(runs.map(({ runId }) => ({ runId, bytes: 5 * MIB })));
  hub.wake(runs.map(({ runId }) => runId));
  expect(await Promise.all(waits)).toEqual(runs.map(() => null));
  expect(reads.pooled.length).toBeLessThan(2);
});

test("a poll without a response is not started again in parallel", async () => {
  const asked: string[][] = [];
  const { promise: unanswered } = Promise.withResolvers<never>();
  const pipelined: Database["pipelined"] = (_statement, values) => {
    asked.push(values[1] as string[]);
    return unanswered;
  };
  const hub = new WaitingHub({ ...engine.db, pipelined }, createLog("silent"), 1);
  const [first, second] = await createRuns(2);
  if (first === undefined || second === undefined) throw new Error("no runs");
  const wait = hub.wait({ ...first, untilMs: inAMinute() });
  // Its last poll is abandoned after six timer intervals, at each of which a poll of all runs is due.
  await hub.wait({ ...second, untilMs: performance.now() + 100 }).finished;
  expect(asked.filter((runIds) => runIds.includes(first.runId))).toHaveLength(1);
  wait.cancel();
});
