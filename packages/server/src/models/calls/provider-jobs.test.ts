import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { requestOf } from "../../../test/support/model-caller-fixture.ts";
import { callOf, entryOf } from "../../../test/providers/adapter-rig.ts";
import { useTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import type { ModelAdapter, ModelResult, ReadyJob } from "../ai-sdk/model-adapter.ts";
import { failure } from "../providers/failure.ts";
import type { JsonValue } from "../../platform/json.ts";
import { createCallCount } from "./provider-calls.ts";
import { storeOperation } from "./provider-calls-store.ts";
import { NO_USAGE } from "../pricing/usage.ts";
import { RunGone, runJob } from "./provider-jobs.ts";
import { sleep } from "../../platform/resilience/deadline.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const VIDEO: ModelResult = {
  kind: "video",
  content: Buffer.from("a film"),
  mediaType: "video/mp4",
  usage: NO_USAGE,
  requestId: null,
};

/** Continues with a video that was started before: each poll gets the next load, and the last one repeats. */
function resume(loads: readonly ReadyJob["load"][]) {
  const waits: number[] = [];
  let questions = 0;
  const pollJob: ModelAdapter["pollJob"] = async () => {
    const load = loads[Math.min(questions, loads.length - 1)];
    questions += 1;
    return load === undefined ? { kind: "pending" } : { kind: "ready", load };
  };
  const never = () => Promise.reject(new Error("nothing but questions is expected"));
  const adapter = {
    callModel: never,
    startJob: never,
    embedTexts: never,
    cancelJob: never,
    pollJob,
    close: async () => {},
  };
  const wait = async (ms: number): Promise<void> => void waits.push(ms);
  const call = callOf(entryOf("fal/luma-ray-2"));
  const job = { call, operation: "o", store: never };
  const result = runJob({ adapter, wait }, job, new AbortController().signal);
  return { result, waits, questions: () => questions };
}

/** Takes that long on the tests' clock, unless it is aborted. */
const takes =
  (ms: number): ReadyJob["load"] =>
  (signal) =>
    new Promise((resolve, reject) => {
      setTimeout(() => resolve(VIDEO), ms);
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
const unusable: ReadyJob["load"] = async () => failure("image_unusable", { retry: "never", breaker: "ignored" });

describe("a finished video", () => {
  test("may take four minutes to arrive, eight times as long as a poll", async () => {
    const { result, questions } = resume([takes(240_000)]);
    await vi.advanceTimersByTimeAsync(240_000);
    expect(await result).toBe(VIDEO);
    expect(questions()).toBe(1);
  });

  test("that does not arrive in five minutes is fetched again, not started again", async () => {
    const { result, questions } = resume([takes(3_600_000), takes(0)]);
    await vi.advanceTimersByTimeAsync(299_000);
    expect(questions()).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await result).toBe(VIDEO);
    expect(questions()).toBe(2);
  });

  test("whose address is unusable is requested three times", async () => {
    const { result, questions } = resume([unusable]);
    expect(await result).toMatchObject({ kind: "failed", cause: "image_unusable" });
    expect(questions()).toBe(3);
  });

  test("of an earlier attempt is polled at once, and then at growing intervals", async () => {
    const { result, waits } = resume([unusable, unusable, takes(0)]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await result).toBe(VIDEO);
    expect(waits).toEqual([3_000, 5_000]);
  });
});

/** A start that ends with its signal, or when the test lets the provider respond. */
function start() {
  const answered = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const never = () => Promise.reject(new Error("nothing but the start is expected"));
  const startJob: ModelAdapter["startJob"] = async (_call, signal) => {
    asked.resolve();
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
    );
    await Promise.race([answered.promise, aborted]);
    return { kind: "started", operation: "o" };
  };
  const adapter = {
    callModel: never,
    startJob,
    pollJob: never,
    cancelJob: never,
    embedTexts: never,
    close: async () => {},
  };
  const call = callOf(entryOf("fal/luma-ray-2"));
  const request = requestOf({ model: call.entry.model, deadlineMs: 0 });
  const canceler = new AbortController();
  const run = async (store: Database = db) => {
    const begun = await createCallCount(db)({ request, entry: call.entry });
    if (begun.kind !== "begun") throw new Error("the send was not begun");
    const { key } = begun;
    const keep = (operation: JsonValue) => storeOperation(store, key, { attempt: request.attempt, operation });
    return runJob({ adapter, wait: sleep }, { call, operation: null, store: keep }, canceler.signal);
  };
  const operations = () => db.query("select operation from provider_calls where run_id = $1", [request.runId]);
  return {
    run,
    asked: asked.promise,
    answer: answered.resolve,
    abort: (why: Error) => canceler.abort(why),
    operations,
  };
}

describe("a start that is under way", () => {
  test("may finish when the run is canceled, so that the video's name is known and it can be stopped", async () => {
    const { run, asked, answer, abort, operations } = start();
    const result = run();
    await asked;
    const gone = new RunGone();
    abort(gone);
    answer();
    await expect(result).rejects.toBe(gone);
    expect(await operations()).toEqual([{ operation: "o" }]);
  });

  test("keeps the video's name through a database outage: nothing else could find or stop it", async () => {
    const { run, answer, abort, operations } = start();
    const stored = Promise.withResolvers<void>();
    let tries = 0;
    const away: Database = {
      ...db,
      query: async (statement, values) => {
        if ((tries += 1) <= 3) throw Object.assign(new Error("shutting down"), { code: "57P01" });
        const rows = await db.query(statement, values);
        stored.resolve();
        return rows as never;
      },
    };
    const result = run(away);
    answer();
    await stored.promise;
    abort(new Error("the test is over"));
    await expect(result).rejects.toThrow("the test is over");
    expect(await operations()).toEqual([{ operation: "o" }]);
  });

  test("is aborted when the worker stops", async () => {
    const { run, asked, abort, operations } = start();
    const result = run();
    await asked;
    const stop = new Error("draining");
    abort(stop);
    await expect(result).rejects.toBe(stop);
    expect(await operations()).toEqual([{ operation: null }]);
  });

  test("does not begin for a run that is already canceled", async () => {
    const { run, abort, operations } = start();
    const gone = new RunGone();
    abort(gone);
    await expect(run()).rejects.toBe(gone);
    expect(await operations()).toEqual([{ operation: null }]);
  });
});
