import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { createCaller, SANDBOX_CATALOGUE } from "../../../test/support/model-caller-fixture.ts";
import { openEngine, type Engine } from "../../../test/runs/engine-fixture.ts";
import { createLog } from "../../platform/log.ts";
import { cancelRunRow } from "../../runs/runs-store.ts";
import { createAbandonedJobsTick } from "./abandoned-jobs.ts";
import type { JobCancel } from "../ai-sdk/model-adapter.ts";
import { storeOperation } from "./provider-calls-store.ts";
import { failure } from "../providers/failure.ts";
import { createCallCount } from "./provider-calls.ts";
import { sleep } from "../../platform/resilience/deadline.ts";

const MODEL = "sandbox/video";
const OVERLOADED = failure("overloaded", { retry: "safe", breaker: "counted", httpStatus: 503 });

let engine: Engine;
beforeAll(async () => void (engine = await openEngine()));
afterEach(async () => {
  await engine.clear();
  await engine.db.query("truncate provider_calls");
});
afterAll(() => engine.close());

/** A claimed run with a video under way. */
async function startJob() {
  const accountId = await engine.createAccount();
  const runId = await engine.createRun(accountId, { model: MODEL });
  const worker = await engine.registerWorker();
  const runs = await engine.claim(worker);
  const request = { accountId, runId, attempt: 1, step: 0, item: 0 };
  const entry = { model: MODEL, provider: "sandbox", providerModel: "video" };
  const begun = await createCallCount(engine.db)({ request, entry });
  if (begun.kind !== "begun") throw new Error("the send was not begun");
  await storeOperation(engine.db, begun.key, { attempt: 1, operation: "o" });
  return {
    cancel: () => cancelRunRow(engine.db, accountId, runId),
    finish: (ok: boolean) => engine.finish(worker, runs, { ok }),
  };
}

/** Runs the tick once with this provider response. @returns the videos it asked to stop, and how the call ended. */
async function poll(answer: () => Promise<JobCancel>) {
  const canceledJobs: unknown[] = [];
  const tick = createAbandonedJobsTick({
    db: engine.db,
    log: createLog("silent"),
    catalogue: SANDBOX_CATALOGUE,
    adapter: {
      cancelJob: ({ operation }) => {
        canceledJobs.push(operation);
        return answer();
      },
    },
  });
  await tick.run();
  const [row] = await engine.db.query<{ outcome: string | null; http_status: number | null }>(
    "select outcome, http_status from provider_calls",
  );
  return { canceledJobs, outcome: row?.outcome, httpStatus: row?.http_status };
}

const canceled = async (): Promise<JobCancel> => ({ kind: "canceled" });
const overloaded = async (): Promise<JobCancel> => OVERLOADED;

test("the video of a canceled run is stopped once", async () => {
  await (await startJob()).cancel();
  expect(await poll(canceled)).toMatchObject({ canceledJobs: ["o"], outcome: "canceled" });
  expect((await poll(canceled)).canceledJobs).toEqual([]);
});

test("a video that a run waits for, or that has arrived, is left alone", async () => {
  const { finish } = await startJob();
  expect((await poll(canceled)).canceledJobs).toEqual([]);
  await finish(true);
  await engine.shiftClock(300);
  expect((await poll(canceled)).canceledJobs).toEqual([]);
});

test("a video whose run failed is stopped a minute later", async () => {
  await (await startJob()).finish(false);
  expect((await poll(canceled)).canceledJobs).toEqual([]);
  await engine.shiftClock(90);
  expect(await poll(canceled)).toMatchObject({ canceledJobs: ["o"], outcome: "canceled" });
});

test.each([true, false])("a video that takes longer than its run is stopped once the run has ended: %s", async (ok) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const accountId = await engine.createAccount();
  const runId = await engine.createRun(accountId, { model: MODEL });
  const worker = await engine.registerWorker();
  const runs = await engine.claim(worker);
  const started = Promise.withResolvers<void>();
  const never = () => Promise.reject(new Error("nothing but a video is expected"));
  const { caller, call } = createCaller({
    db: engine.db,
    adapter: {
      startJob: async () => ({ kind: "started", operation: "o" }),
      pollJob: async () => ({ kind: "pending" }),
      callModel: never,
      embedTexts: never,
      cancelJob: never,
      close: async () => {},
    },
    wait: (ms, signal) => {
      started.resolve(); // between storing the started job's name and the first poll
      return sleep(ms, signal);
    },
  });
  const outcome = call({ accountId, runId, model: MODEL, deadlineMs: performance.now() + 60_000 });
  await started.promise;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await outcome).toMatchObject({ kind: "failed" });
  await caller.close();
  expect(await poll(canceled)).toMatchObject({ canceledJobs: [] }); // another worker may have the run and wait for the video
  await engine.finish(worker, runs, { ok });
  expect(await poll(canceled)).toMatchObject({ canceledJobs: ["o"], outcome: "canceled" });
  expect((await poll(canceled)).canceledJobs).toEqual([]);
});

test.each([
  ["is overloaded", overloaded],
  ["breaks", () => Promise.reject(new Error("reset"))],
])("a provider that %s gets the request again for two minutes", async (_what, answer) => {
  await (await startJob()).cancel();
  expect(await poll(answer)).toMatchObject({ canceledJobs: ["o"], outcome: null });
  expect(await poll(answer)).toMatchObject({ canceledJobs: ["o"], outcome: null });
  await engine.shiftClock(150);
  expect(await poll(answer)).toMatchObject({ canceledJobs: ["o"], outcome: "cancel_failed" });
  expect((await poll(answer)).canceledJobs).toEqual([]);
});

test("a provider that refuses gets the request once", async () => {
  await (await startJob()).cancel();
  const refused = failure("bad_request", { retry: "never", breaker: "ignored", httpStatus: 400 });
  const seen = await poll(async () => refused);
  expect(seen).toEqual({ canceledJobs: ["o"], outcome: "cancel_failed", httpStatus: 400 });
  expect((await poll(canceled)).canceledJobs).toEqual([]);
});
