import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { useTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import { recordEnds, type CallEnd } from "./provider-calls-store.ts";
import { createCallCount } from "./provider-calls.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));

const entry = { model: "sandbox/text", provider: "sandbox", providerModel: "text" };
const call = (runId: string, change: { step?: number; item?: number; attempt?: number } = {}) => ({
  request: { accountId: runId, runId, attempt: 1, step: 0, item: 0, ...change },
  entry,
});

test("of calls for one item that begin at once in two processes, three are counted and the others refused", async () => {
  const runId = randomUUID();
  const [one, other] = [createCallCount(db), createCallCount(db)];
  const begin = (n: number) => (n % 2 === 0 ? one : other)(call(runId, { attempt: n + 1 }));
  const starts = await Promise.all(Array.from({ length: 10 }, (_, n) => begin(n)));
  const numbers = starts.flatMap((start) => (start.kind === "begun" ? [start.key.callNumber] : []));
  expect(numbers.sort((a, b) => a - b)).toEqual([1, 2, 3]);
  expect(starts.filter((start) => start.kind === "used-up")).toHaveLength(7);
});

test("a burst of calls is counted item by item in a few statements", async () => {
  let statements = 0;
  const counted: Database = {
    ...db,
    query: (statement, values) => {
      statements += 1;
      return db.query(statement, values);
    },
  };
  const count = createCallCount(counted);
  const runs = Array.from({ length: 1_200 }, () => randomUUID());
  const starts = await Promise.all(runs.map((runId) => count(call(runId))));
  expect(starts.map((start) => start.kind === "begun" && start.key)).toEqual(
    runs.map((runId) => ({ runId, step: 0, item: 0, callNumber: 1 })),
  );
  expect(statements).toBeLessThanOrEqual(6);
});

test("a database failure prevents the call, and the next one is counted again", async () => {
  let isDown = true;
  const flaky: Database = {
    ...db,
    query: (statement, values) => (isDown ? Promise.reject(new Error("down")) : db.query(statement, values)),
  };
  const count = createCallCount(flaky);
  await expect(count(call(randomUUID()))).rejects.toThrow("down");
  isDown = false;
  await expect(count(call(randomUUID()))).resolves.toMatchObject({ kind: "begun" });
});

test("a count whose response was lost is repeated, and the call is counted once", async () => {
  const runId = randomUUID();
  let lost = 0;
  const losing: Database = {
    ...db,
    query: async (statement, values) => {
      const rows = await db.query(statement, values);
      if ((lost += 1) <= 4) throw new Error("Connection terminated unexpectedly");
      return rows as never;
    },
  };
  const start = await createCallCount(losing)(call(runId));
  expect(start).toEqual({
    kind: "begun",
    key: { runId, step: 0, item: 0, callNumber: 1 },
    isFollowed: false,
  });
  expect(await db.query("select call_number from provider_calls where run_id = $1", [runId])).toEqual([
    { call_number: 1 },
  ]);
});

test("each call in a statement gets its own outcome, and a call that already ended keeps its first", async () => {
  const runs = Array.from({ length: 3 }, () => randomUUID());
  const count = createCallCount(db);
  for (const runId of runs) await count(call(runId));
  const end = (nth: number, outcome: string): CallEnd => ({
    key: { runId: runs[nth] ?? "", step: 0, item: 0, callNumber: 1 },
    outcome,
    httpStatus: 200 + nth,
    code: null,
    requestId: null,
    usage: null,
    costMicro: nth,
  });
  await recordEnds(db, [end(0, "text"), end(1, "refused")]);
  await recordEnds(db, [end(1, "network"), end(2, "text"), end(0, "network")]);
  const stored =
    "select outcome, http_status, cost_micro, ended_at is null as is_open from provider_calls where run_id = $1";
  const read = async (runId: string) => (await db.query(stored, [runId]))[0];
  expect(await Promise.all(runs.map(read))).toEqual(
    ["text", "refused", "text"].map((outcome, nth) => ({
      outcome,
      http_status: 200 + nth,
      cost_micro: nth,
      is_open: false,
    })),
  );
});
