/** A canceled run's video is stopped at its provider by worker processes, dead ones included. */
import { describe, expect, test } from "vitest";
import { until } from "../support/promptd-process.ts";
import {
  createVideoRun,
  double,
  fixture,
  isOperationStored,
  listCaptures,
  listCalls,
  openVideoRuns,
  useVideoRuns,
  VIDEO_MODELS,
} from "./video-fixture.ts";

useVideoRuns();

/** What each provider documents to stop a job; of Veo nothing is documented. */
const CANCELS = {
  Veo: { seen: [], outcome: "cancel_impossible" },
  fal: { seen: [{ number: 1, method: "PUT", authorization: "Key k" }], outcome: "canceled" },
  Replicate: { seen: [{ number: 1, method: "POST", authorization: "Bearer k" }], outcome: "canceled" },
} as const;

describe.each(Object.entries(CANCELS))("a canceled run with a video of %s", (name, { seen, outcome }) => {
  const model = VIDEO_MODELS[name as keyof typeof VIDEO_MODELS];
  const isEnded = async () =>
    (await fixture.db.query("select 1 from provider_calls where ended_at is not null")).length === 1;

  test("stops it at the provider while a worker waits for it", { timeout: 120_000 }, async () => {
    await openVideoRuns();
    const run = await createVideoRun(model);
    const worker = await fixture.start("worker");
    await until(() => double.polls.length > 0);
    await run.cancel();
    await until(isEnded);
    expect(double.cancels).toEqual(seen);
    await worker.stop();
    expect(await listCalls()).toEqual([{ call_number: 1, outcome }]);
    expect(await listCaptures()).toEqual([]);
    expect(await fixture.findFaults()).toEqual([]);
  });

  test("stops it at the provider though its worker is dead", { timeout: 120_000 }, async () => {
    await openVideoRuns();
    const run = await createVideoRun(model);
    const worker = await fixture.start("worker");
    await until(async () => double.polls.length > 0 && (await isOperationStored()));
    await worker.kill();
    await run.cancel();
    await fixture.start("worker");
    await until(isEnded);
    expect(double.cancels).toEqual(seen);
    expect(double.submissions).toEqual([1]);
    expect(await listCalls()).toEqual([{ call_number: 1, outcome }]);
  });
});
