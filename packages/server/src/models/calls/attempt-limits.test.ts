/** Limits of one call, seen from the provider's side: a double that only keeps the signal it was given. */
import { expect, test, vi } from "vitest";
import { createCaller, requestOf, SANDBOX_CATALOGUE } from "../../../test/support/model-caller-fixture.ts";
import { useTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import { createLog } from "../../platform/log.ts";
import type { ModelAdapter, ModelCall, ModelResult } from "../ai-sdk/model-adapter.ts";
import { failure } from "../providers/failure.ts";
import { NO_USAGE } from "../pricing/usage.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));

const unused = () => Promise.reject(new Error("not part of these tests"));
const TEXT: ModelResult = { kind: "text", text: "done", truncated: false, usage: NO_USAGE, requestId: null };

interface Rig {
  readonly answer: (call: ModelCall, signal: AbortSignal) => Promise<ModelResult>;
  readonly timeoutMs?: number;
  readonly inflightBytesMax?: number;
  readonly random?: () => number;
}

/** A caller of one model, `double/text`, whose adapter answers as the test says. */
function openCaller({ answer, timeoutMs = 600_000, ...change }: Rig) {
  const adapter: ModelAdapter = {
    callModel: answer,
    startJob: unused,
    pollJob: unused,
    cancelJob: unused,
    embedTexts: unused,
    close: async () => {},
  };
  const find: typeof SANDBOX_CATALOGUE.find = (model) => {
    const entry = SANDBOX_CATALOGUE.find(model);
    return entry === null
      ? null
      : { ...entry, provider: "double", priceFactor: "3", limits: { ...entry.limits, timeoutMs } };
  };
  return createCaller({ db, adapter, catalogue: { ...SANDBOX_CATALOGUE, find }, ...change });
}

/** Never responds; rejects like a fetch when its signal aborts. */
const hang = (_call: ModelCall, signal: AbortSignal): Promise<ModelResult> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));

test("a call ends at its model's own time limit, long before the run's deadline", async () => {
  const { call } = openCaller({ answer: hang, timeoutMs: 50 });
  expect(await call()).toMatchObject({ kind: "failed", message: "The model did not answer in time. Try again later." });
});

test("a canceled run's call is aborted at the provider with the same reason", async () => {
  const called = Promise.withResolvers<AbortSignal>();
  const { call } = openCaller({
    answer: (asked, signal) => {
      called.resolve(signal);
      return hang(asked, signal);
    },
  });
  const cancel = new AbortController();
  const outcome = call({}, cancel.signal);
  const given = await called.promise;
  expect(given.aborted).toBe(false);
  const reason = new Error("canceled");
  cancel.abort(reason);
  await expect(outcome).rejects.toBe(reason);
  expect(given.reason).toBe(reason);
});

test.each([
  [0, [0, 0]],
  [0.25, [250, 500]],
  [0.9, [900, 1_800]],
])(
  "the pause before another call is random, below 1 s and then below 2 s: with random %f it is %j",
  async (chance, pauses) => {
    let left = 2;
    const { call, waits } = openCaller({
      random: () => chance,
      answer: async () => {
        left -= 1;
        return left < 0 ? TEXT : failure("overloaded", { retry: "safe", breaker: "ignored" });
      },
    });
    expect(await call()).toMatchObject({ kind: "text" });
    expect(waits).toEqual(pauses);
  },
);

test("images in flight are bounded: a call that does not fit waits until another has ended", async () => {
  const image = { bytes: new Uint8Array(1_000_000), mediaType: "image/png" as const };
  const open: (() => void)[] = [];
  let under = 0;
  let most = 0;
  const { call } = openCaller({
    inflightBytesMax: 9_000_000, // two thirds are for calls: room for one of 5 MB
    answer: async () => {
      under += 1;
      most = Math.max(most, under);
      const { promise, resolve } = Promise.withResolvers<void>();
      open.push(resolve);
      await promise;
      under -= 1;
      return TEXT;
    },
  });
  const calls = [1, 2].map(() => call({ images: [image] }));
  await expect.poll(() => open.length).toBe(1);
  open[0]?.();
  await expect.poll(() => open.length).toBe(2);
  open[1]?.();
  expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(["text", "text"]);
  expect(most).toBe(1);
});

test("the cost of a call is recorded at the provider's price, without the operator's factor", async () => {
  const usage = { ...NO_USAGE, inputTokens: 1_000, outputTokens: 2_000 };
  const { caller, call } = openCaller({ answer: async () => ({ ...TEXT, usage }) });
  const { runId } = requestOf();
  await call({ runId });
  await caller.close();
  const rows = await db.query("select outcome, cost_micro, usage_estimated from provider_calls where run_id = $1", [
    runId,
  ]);
  // 1,000 tokens at 0.1 and 2,000 at 0.5 credits per 1,000
  expect(rows).toEqual([{ outcome: "text", cost_micro: 1_100_000, usage_estimated: false }]);
});

test("a model that its provider does not offer is for the operator to fix: the log names the successor, the caller learns only that", async () => {
  const log = createLog("silent");
  const logged = vi.spyOn(log, "error");
  const find: typeof SANDBOX_CATALOGUE.find = (model) => {
    const entry = SANDBOX_CATALOGUE.find(model);
    return entry === null ? null : { ...entry, provider: "double", successor: "double/next" };
  };
  const missing = failure("model_missing", { retry: "never", breaker: "ignored", httpStatus: 404 });
  const { call } = createCaller({
    db,
    log,
    adapter: {
      callModel: async () => missing,
      startJob: unused,
      pollJob: unused,
      cancelJob: unused,
      embedTexts: unused,
      close: async () => {},
    },
    catalogue: { ...SANDBOX_CATALOGUE, find },
  });
  expect(await call()).toMatchObject({
    kind: "failed",
    message: "The model is not available. Ask an operator of this server.",
  });
  expect(logged).toHaveBeenCalledWith(
    expect.objectContaining({ httpStatus: 404, successor: "double/next", model: "sandbox/text" }),
    expect.stringContaining("does not offer this model"),
  );
});
