import { describe, expect, test } from "vitest";
import { createSandboxCaller, failedWith } from "../../../test/support/sandbox-caller.ts";
import { IN_THIS_DATABASE, useTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import type { ModelCallerOptions } from "./call-model.ts";
import { CountedCall } from "./provider-calls.ts";
import { eventually } from "../../../test/support/eventually.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));
const openCaller = (change: Partial<ModelCallerOptions> = {}) => createSandboxCaller(db, change);

describe("a call", () => {
  test("returns the text with its usage, and records one call with its cost", async () => {
    const { call, sends } = openCaller();
    const outcome = await call("Write a haiku.", { instructions: "Be brief.", options: { reasoningEffort: "high" } });
    expect(outcome).toMatchObject({ kind: "text", truncated: false, usage: { isEstimated: false, images: 0 } });
    expect(outcome.kind === "text" && outcome.text).toContain("reasoning: high");
    expect(outcome.kind === "text" && outcome.text).toContain("Be brief.\nWrite a haiku.");
    const [row, ...more] = await sends();
    expect(more).toEqual([]);
    expect(row).toMatchObject({ call_number: 1, outcome: "text", usage: { inputTokens: 6 } });
    expect(row?.cost_micro).toBeGreaterThan(0);
  });

  test("that gets a 429 and then succeeds is made twice, at least Retry-After apart", async () => {
    const { call, waits, sends } = openCaller();
    expect(await call("hi\nsandbox: flaky=1 error=429 retryafter=1")).toMatchObject({ kind: "text" });
    expect(waits).toEqual([1_000]);
    expect((await sends()).map((row) => [row.call_number, row.outcome, row.http_status])).toEqual([
      [1, "rate_limited", 429],
      [2, "text", null],
    ]);
  });

  test("that fails three times with a 500 is not made a fourth time", async () => {
    const { call, sends } = openCaller();
    expect(await call("sandbox: error=500")).toEqual(failedWith("The model provider is overloaded. Try again later."));
    expect((await sends()).map((row) => row.http_status)).toEqual([500, 500, 500]);
  });

  test("never exceeds three provider calls per item, however many attempts of the run follow", async () => {
    const { call, sends } = openCaller({ random: () => 0 });
    await call("sandbox: error=503");
    expect(await call("sandbox: error=503", { attempt: 2 })).toMatchObject({ kind: "failed" });
    expect(await call("sandbox: error=503", { attempt: 2, item: 1 })).toMatchObject({ kind: "failed" });
    expect((await sends()).map((row) => [row.call_number, row.attempt])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [1, 2],
      [2, 2],
      [3, 2],
    ]);
  });

  test("that was counted with its run is made once, without another count", async () => {
    const { call, caller, runId, sends } = openCaller();
    await db.query(
      "select provider_calls_begin_first('{1}', array[$1::uuid], array[$1::uuid], '{sandbox/text}', '{sandbox}', '{text}')",
      [runId],
    );
    const counted = new CountedCall(runId, {
      model: "sandbox/text",
      provider: "sandbox",
      providerModel: "text",
      isFollowed: false,
    });
    expect(await call("hi", { counted, model: "sandbox/text-free", item: 1 })).toMatchObject({ kind: "text" });
    expect(await call("sandbox: flaky=1 error=503", { counted })).toMatchObject({ kind: "text" });
    await caller.withdraw(counted);
    expect((await sends()).map((row) => [row.model, row.call_number, row.outcome])).toEqual([
      ["sandbox/text", 1, "overloaded"],
      ["sandbox/text", 2, "text"],
      ["sandbox/text-free", 1, "text"],
    ]);
  });

  test("that is abandoned between its count and the provider call does not use one up", async () => {
    const { call, sends } = openCaller();
    const canceler = new AbortController();
    const calling = await db.tx(async (tx) => {
      await tx.query("lock table provider_calls"); // the count waits for it
      const outcome = call("hi", {}, canceler.signal).catch((error: unknown) => error);
      const waits = `select 1 from pg_locks where not granted and ${IN_THIS_DATABASE}`;
      await eventually(async () => expect(await tx.query(waits)).not.toEqual([]));
      canceler.abort(new Error("the worker stops"));
      return { outcome };
    });
    expect(await calling.outcome).toMatchObject({ message: "the worker stops" });
    expect(await sends()).toEqual([]);
  });

  test("counts calls of an earlier attempt that died without an outcome", async () => {
    const { call, runId, sends } = openCaller();
    await db.query(
      `insert into provider_calls (run_id, step, item, call_number, account_id, attempt, model, provider, provider_model)
       select $1, 0, 0, n, $1, 1, 'm', 'p', 'p' from generate_series(1, 2) n`,
      [runId],
    );
    expect(await call("hi\nsandbox: flaky=2", { attempt: 3 })).toMatchObject({ kind: "text" });
    expect((await sends()).map((row) => row.outcome)).toEqual([null, null, "text"]);
  });

  test("releases the run if Retry-After is longer than a process should wait", async () => {
    const { call, waits } = openCaller();
    expect(await call("sandbox: error=429 retryafter=30")).toEqual({ kind: "later", delayMs: 30_000 });
    expect(waits).toEqual([]);
  });

  test("fails instead of waiting past the run's deadline", async () => {
    const { call } = openCaller();
    expect(await call("sandbox: error=429 retryafter=120")).toEqual(
      failedWith("The model provider is overloaded. Try again later."),
    );
  });

  test("that hangs ends at the run's deadline, and is not made again", async () => {
    const { call, sends } = openCaller();
    const outcome = await call("sandbox: hang", { deadlineMs: performance.now() + 50 });
    expect(outcome).toEqual(failedWith("The model did not answer in time. Try again later."));
    expect((await sends()).map((row) => row.outcome)).toEqual(["timeout"]);
  });

  test("is not made when the deadline has passed", async () => {
    const { call } = openCaller();
    expect(await call("hi", { deadlineMs: performance.now() - 1 })).toEqual(
      failedWith("The model did not answer in time. Try again later."),
    );
  });

  test("that is canceled rejects with the reason at once, and its provider call is aborted", async () => {
    const { call, runId } = openCaller();
    const cancel = new AbortController();
    const outcome = call("sandbox: hang", {}, cancel.signal);
    const reason = new Error("canceled by its owner");
    await eventually(async () => {
      const rows = await db.query("select 1 from provider_calls where run_id = $1", [runId]);
      expect(rows).toHaveLength(1);
    });
    cancel.abort(reason);
    await expect(outcome).rejects.toBe(reason);
  });
});

describe("a failure that another call cannot fix is reported at once with its message:", () => {
  test.each([
    ["error=400", "The model provider did not accept this request."],
    ["error=404", "The model is not available. Ask an operator of this server."],
    ["error=422", "The model provider did not accept this request."],
    ["error=413", "The prompt is too long for this model. Use shorter inputs."],
    ["error=401", "The model provider is not available. Ask an operator of this server."],
    ["error=403", "The model provider is not available. Ask an operator of this server."],
    ["quota", "The model provider is not available. Ask an operator of this server."],
    ["refuse", "The model declined this request. Change the inputs."],
    ["empty", "The model returned nothing. Try again or change the inputs."],
    ["partial=0", "The model provider did not accept this request."],
    ["size=9000", "The model's answer is too large."],
    ["dely=5", "Sandbox: unknown or invalid directive 'dely=5'."],
  ])("%s", async (directive, message) => {
    const { call, sends } = openCaller();
    expect(await call(`sandbox: ${directive}`)).toEqual(failedWith(message));
    expect(await sends()).toHaveLength(1);
  });
});

describe("a failure that may have been billed", () => {
  test.each(["reset", "garble"])("is sent once more for a text (%s)", async (directive) => {
    const { call, sends } = openCaller({ random: () => 0 });
    expect(await call(`sandbox: ${directive}`)).toMatchObject({ kind: "failed" });
    expect(await sends()).toHaveLength(2);
  });

  test("is never retried for an image or a video", async () => {
    const image = openCaller();
    const message = "The model provider could not be reached. Try again later.";
    expect(await image.call("sandbox: reset", { model: "sandbox/image" })).toEqual(failedWith(message));
    expect(await image.sends()).toHaveLength(1);
    const video = openCaller();
    expect(await video.call("sandbox: reset", { model: "sandbox/video" })).toEqual(failedWith(message));
    expect(await video.sends()).toHaveLength(1);
  });
});

test("embeddings are requested only from providers that support them, and the message says which", async () => {
  const { caller } = openCaller();
  const { signal } = new AbortController();
  for (const model of ["sandbox/text", "text-embedding-3-small", "nobody/x"]) {
    await expect(caller.embedTexts(model, ["a"], signal)).rejects.toThrow(
      `must be openai/…, google/…, compatible/… (a model on the server at OPENAI_BASE_URL), or …/… for a provider in the models file, got "${model}".`,
    );
  }
});
