/** The life of a run as its caller sees it (specification, "States and transitions"), with API and worker apart. */
import type { CreateRunBody } from "@promptd/contract";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { App } from "../../src/app.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { directedPrompt, imagePrompt, promptFile } from "../prompts/prompt-files.ts";
import { overlayFiles } from "./overlay-file.ts";
import { bodyOf, postRun, runOf, startRun } from "./requests.ts";
import { eventually } from "../support/eventually.ts";

const writeOverlay = overlayFiles();
let server: TestServer;
let caller: TestCaller;
let worker: App;

beforeAll(async () => {
  server = await startTestServer({ role: "api" });
});
beforeEach(async () => {
  caller = await server.createCaller();
});
afterAll(() => server.close());

async function views(runId: string) {
  const run = await caller.client.runs.get(runId);
  const row = (await caller.client.runs.list()).rows.find((each) => each.runId === runId);
  const shown = (await caller.client.runs.list({ status: run.runStatus })).rows.map((each) => each.runId);
  return { run, row, isInFilter: shown.includes(runId) };
}

describe("without a worker", () => {
  let body: CreateRunBody;
  beforeEach(async () => {
    body = bodyOf((await server.publish(promptFile())).promptVersionId);
  });

  /** What a worker that comes now makes of the run; it leaves again. */
  async function finishedBy(late: App, runId: string) {
    try {
      return await caller.client.runs.get(runId, { waitSeconds: 20 });
    } finally {
      await late.close();
    }
  }

  test("a run stays queued: no outputs, tokens 0, credits 0, and the status filter agrees", async () => {
    const runId = await startRun(caller.client, body);
    const { run, row, isInFilter } = await views(runId);
    expect(run).toEqual({ runId, outputs: [], runStatus: "queued", tokens: 0 });
    expect(row).toMatchObject({ outputs: [], runStatus: "queued", credits: 0 });
    expect(isInFilter).toBe(true);
    await caller.client.runs.cancel(runId);
  });

  test("a queued run past its deadline is failed, free of charge, by the next worker that polls", async () => {
    const runId = await startRun(caller.client, body);
    await server.shiftTime(601);
    const run = await finishedBy(await server.startAnother("worker"), runId);
    await server.shiftTime(0);
    expect(run).toEqual({
      runId,
      outputs: [
        { type: "error", data: "The run did not finish within 10 minutes and was stopped. You were not charged." },
      ],
      runStatus: "failed",
      tokens: 0,
    });
    expect((await caller.client.me.credits()).credits).toBe(1_000);
  });

  test("a model that is retired while the run waits fails it with a message, free of charge", async () => {
    const model = { model: "sandbox/text", status: "retired", retiredAt: "2026-11-01" };
    const file = writeOverlay({ models: [model] });
    const runId = await startRun(caller.client, body);
    const run = await finishedBy(await server.startAnother("worker", { PROMPTD_MODELS_FILE: file }), runId);
    expect(run).toMatchObject({
      runStatus: "failed",
      tokens: 0,
      outputs: [{ type: "error", data: "The model sandbox/text is retired. Use a newer version of the prompt." }],
    });
    expect((await caller.client.me.credits()).credits).toBe(1_000);
  });
});

describe("with a worker in another process", () => {
  let version = "";
  beforeAll(async () => {
    worker = await server.startAnother("worker");
    ({ promptVersionId: version } = await server.publish(directedPrompt()));
  });
  afterAll(() => worker.close());

  test("runs queued before it came are done", async () => {
    const { promptVersionId } = await server.publish(promptFile());
    expect(runOf(await postRun(caller.client, bodyOf(promptVersionId))).runStatus).toBe("succeeded");
  });

  test("a waiting POST wakes as soon as the run ends there, not at its next poll", async () => {
    const createAndWait = () => postRun(caller.client, bodyOf(version, { do: "tokens=2" }));
    await createAndWait();
    // If polls ended the waits, each would end a second after the one before it.
    await eventually(async () => {
      const startedMs = performance.now();
      expect((await createAndWait()).httpStatus).toBe(200);
      expect(performance.now() - startedMs).toBeLessThan(500);
    });
  });

  test("queued, running and succeeded follow each other, and every view of them agrees", async () => {
    const runId = await startRun(caller.client, bodyOf(version, { do: "delay=3000" }));
    const running = await eventually(async () => {
      const seen = await views(runId);
      expect(seen.run.runStatus).toBe("running");
      return seen;
    });
    expect(running.run).toEqual({ runId, outputs: [], runStatus: "running", tokens: 0 });
    expect(running.row).toMatchObject({ outputs: [], runStatus: "running", credits: 0 });
    expect(running.isInFilter).toBe(true);
    await caller.client.runs.get(runId, { waitSeconds: 20 });
    const done = await views(runId);
    expect(done.run).toMatchObject({ runStatus: "succeeded", tokens: 1 });
    expect(done.row).toMatchObject({ runStatus: "succeeded", credits: 1, outputs: done.run.outputs });
    expect(done.isInFilter).toBe(true);
  });

  test("a provider that fails once is called again: the run succeeds and is charged once", async () => {
    const run = await caller.client.runs.create(bodyOf(version, { do: "flaky=1" }));
    expect(run).toMatchObject({ runStatus: "succeeded", tokens: 1 });
    expect((await caller.client.me.credits()).credits).toBe(999);
  });

  const failures = [
    ["refuses", "refuse"],
    ["does not accept the request", "error=400"],
    ["answers nonsense", "garble"],
    ["answers nothing", "empty"],
  ] as const;
  test.each(failures)(
    "a provider that %s fails the run with one fixed message, free of charge",
    async (_, behaviour) => {
      const run = await caller.client.runs.create(bodyOf(version, { do: behaviour }));
      expect(run).toMatchObject({ runStatus: "failed", tokens: 0, outputs: [{ type: "error" }] });
      expect(run.outputs).toHaveLength(1);
      expect(run.outputs[0]?.data).toMatch(/^The model\b.{5,100}\.$/);
      expect((await caller.client.me.credits()).credits).toBe(1_000);
    },
  );

  test("a provider without quota also fails the run; its model then pauses, and other models continue", async () => {
    const { promptVersionId } = await server.publish(directedPrompt({ model: "sandbox/text-free" }));
    const run = await caller.client.runs.create(bodyOf(promptVersionId, { do: "quota" }));
    expect(run).toMatchObject({
      runStatus: "failed",
      outputs: [{ type: "error", data: "The model provider is not available. Ask an operator of this server." }],
    });
    expect((await caller.client.runs.create(bodyOf(version, { do: "tokens=2" }))).runStatus).toBe("succeeded");
  });

  const deadlines = [
    [10, "text", () => promptFile({ body: "sandbox: delay=600000\nA text." })],
    [5, "image", () => imagePrompt({ body: "sandbox: delay=600000\nA square." })],
    [30, "video", () => promptFile({ model: "sandbox/video", body: "sandbox: delay=600000\nA film." })],
  ] as const;
  test.each(deadlines)("after %i minutes a running %s run is stopped, free of charge", async (minutes, _, file) => {
    const { promptVersionId } = await server.publish(file());
    const runId = await startRun(caller.client, bodyOf(promptVersionId));
    await eventually(async () => expect((await caller.client.runs.get(runId)).runStatus).toBe("running"));
    await server.shiftTime(minutes * 60 + 1);
    const run = await caller.client.runs.get(runId, { waitSeconds: 20 });
    await server.shiftTime(0);
    const message = `The run did not finish within ${minutes} minutes and was stopped. You were not charged.`;
    expect(run).toEqual({ runId, outputs: [{ type: "error", data: message }], runStatus: "failed", tokens: 0 });
    expect((await caller.client.me.credits()).credits).toBe(1_000);
  });

  test("after everything above the ledger adds up, and no hold is open", async () => {
    expect((await server.checkLedger()).mismatches).toEqual([]);
    expect(await server.app.db.query("select 1 from credit_holds where state = 'held'")).toEqual([]);
  });
});
