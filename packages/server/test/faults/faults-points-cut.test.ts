/** Points on a run's path, with a process that loses all its database connections exactly there. */
import { describe, expect, test } from "vitest";
import {
  createWithoutWorker,
  expectConnectionsLost,
  expectOneSoundRun,
  meetPoint,
  pointsAtStart,
  pointsInService,
} from "./fault-points.ts";
import { useInstallation } from "../support/use-installation.ts";

const installation = useInstallation();

describe("a process that loses its database connections", () => {
  test.each(pointsInService(["create.before_commit", "finish.before_commit"]))("at %s", async (point, way) => {
    const fixture = installation();
    const { doomed, first, createUntilAnswered } = await meetPoint(fixture, "cut", [point, way]);
    await first;
    if (point === "drain.started") await doomed.exit;
    const next = point === "drain.started" ? await fixture.start() : doomed;
    expect((await createUntilAnswered(next.url)).runStatus).toBe("succeeded");
    expectConnectionsLost(doomed.log);
    await expectOneSoundRun(fixture);
  });

  test.each(pointsAtStart(["claim.after_commit"]))("at %s", async (point, way) => {
    const fixture = installation();
    const { api, response } = await createWithoutWorker(fixture, way);
    // A start that loses its connections may fail; then it is started again.
    const cut = await fixture.start("worker", { PROMPTD_FAULT: `${point}:cut@1` }).catch((error: Error) => error);
    const worker = cut instanceof Error ? await fixture.start("worker") : cut;
    expect((await response).runStatus).toBe("succeeded");
    expectConnectionsLost(cut instanceof Error ? [cut.message] : cut.log);
    await expectOneSoundRun(fixture);
    await Promise.all([api.stop(), worker.stop()]);
  });
});
