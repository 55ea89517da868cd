/**
 * A canceled run's video or picture job is stopped at its provider by worker processes, even when its worker is dead.
 */
import { describe, expect, test } from "vitest";
import { until } from "../support/promptd-process.ts";
import { IMAGE_MODELS, openVideoRuns, VIDEO_MODELS } from "../runs/video-fixture.ts";

/** The documented way to stop a job at each provider; Veo documents none. */
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

describe.concurrent.each(JOBS)("a canceled run with %s", (_name, model, { seen, outcome }) => {
  test("stops it at the provider while a worker waits for it", async (context) => {
    const { double, fixture, ...acts } = await openVideoRuns(context);
    const run = await acts.createRun(model);
    const worker = await fixture.startHere("worker");
    await until(() => double.polls.length > 0);
    await run.cancel();
    await until(acts.isEnded);
    expect(double.cancels).toEqual(seen);
    await worker.close();
    expect(await acts.listCalls()).toEqual([{ call_number: 1, outcome }]);
    expect(await acts.listCaptures()).toEqual([]);
    expect(await fixture.findFaults()).toEqual([]);
  });

  test("stops it at the provider even when its worker is dead", async (context) => {
    const { double, fixture, ...acts } = await openVideoRuns(context);
    const run = await acts.createRun(model);
    const worker = await fixture.start("worker");
    await until(async () => double.polls.length > 0 && (await acts.isOperationStored()));
    await acts.killWorker(worker);
    await run.cancel();
    await fixture.startHere("worker");
    await until(acts.isEnded);
    expect(double.cancels).toEqual(seen);
    expect(double.submissions).toEqual([1]);
    expect(await acts.listCalls()).toEqual([{ call_number: 1, outcome }]);
  });
});
