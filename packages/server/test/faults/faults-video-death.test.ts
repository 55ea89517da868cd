/**
 * Videos and queued pictures, with real providers' protocols, in worker processes that are killed at the worst moments.
 * The next worker asks for the job that was already started, and never starts it twice if its name was known.
 */
import { describe, expect, test } from "vitest";
import { until } from "../support/promptd-process.ts";
import { IMAGE_MODELS, openVideoRuns, VIDEO_MODELS } from "../runs/video-fixture.ts";

const JOBS = [
  ...Object.entries(VIDEO_MODELS).map(([name, model]) => [`a video of ${name}`, model, "video"] as const),
  ...Object.entries(IMAGE_MODELS).map(([name, model]) => [`a picture of ${name}`, model, "image"] as const),
];

describe.concurrent.each(JOBS)("a worker that works on %s", (_name, model, type) => {
  test("and is killed while it waits leaves the same job to the next worker", async (context) => {
    const { double, fixture, ...acts } = await openVideoRuns(context);
    const run = await acts.createRun(model);
    const first = await fixture.start("worker");
    await until(async () => double.polls.length > 0 && (await acts.isOperationStored()));
    await acts.killWorker(first);
    const polls = double.polls.length;
    await fixture.startHere("worker");
    await until(() => double.polls.length > polls);
    expect((await run.get()).runStatus).toBe("running");
    double.finishJobs();
    const { runStatus, outputs } = await run.finished();
    expect([runStatus, outputs?.[0]?.type]).toEqual(["succeeded", type]);
    expect(double.submissions).toEqual([1]);
    expect(new Set(double.polls)).toEqual(new Set([1]));
    expect(await acts.listCalls()).toEqual([{ call_number: 1, outcome: type }]);
    expect(await acts.listCaptures()).toHaveLength(1);
    expect(await fixture.findFaults()).toEqual([]);
  });

  test("and is killed before the job's name is stored costs one more submission", async (context) => {
    const { double, fixture, ...acts } = await openVideoRuns(context);
    const run = await acts.createRun(model);
    await acts.letWorkerDie();
    expect([double.submissions, await acts.isOperationStored()]).toEqual([[1], false]);
    double.finishJobs();
    await fixture.startHere("worker");
    expect((await run.finished()).runStatus).toBe("succeeded");
    expect(double.submissions).toEqual([1, 2]);
    expect(await acts.listCalls()).toEqual([
      { call_number: 1, outcome: null },
      { call_number: 2, outcome: type },
    ]);
    expect(await acts.listCaptures()).toHaveLength(1);
    expect(await fixture.findFaults()).toEqual([]);
  });
});

test.concurrent("three workers killed before the video's name is stored end the run: failed, free, three submissions", async (context) => {
  const { double, fixture, ...acts } = await openVideoRuns(context);
  const run = await acts.createRun(VIDEO_MODELS.Veo);
  for (let death = 1; death <= 3; death += 1) await acts.letWorkerDie();
  double.finishJobs();
  await fixture.startHere("worker");
  expect(await run.finished()).toMatchObject({ runStatus: "failed" });
  expect(double.submissions).toEqual([1, 2, 3]);
  expect(await acts.listCaptures()).toEqual([]);
  expect(await fixture.findFaults()).toEqual([]);
});
