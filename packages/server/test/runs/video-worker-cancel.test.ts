/** A canceled run's video or picture is stopped at its provider by worker processes, dead ones included. */
import { describe, expect, test } from "vitest";
import { until } from "../support/promptd-process.ts";
import {
  createVideoRun,
  double,
  fixture,
  IMAGE_MODELS,
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

const JOBS = [
  ["a video of Veo", VIDEO_MODELS.Veo, CANCELS.Veo],
  ["a video of fal", VIDEO_MODELS.fal, CANCELS.fal],
  ["a picture of fal", IMAGE_MODELS.fal, CANCELS.fal],
  ["a video of Replicate", VIDEO_MODELS.Replicate, CANCELS.Replicate],
  ["a picture of Replicate", IMAGE_MODELS.Replicate, CANCELS.Replicate],
] as const;

describe.each(JOBS)("a canceled run with %s", (_name, model, { seen, outcome }) => {
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
