/** Every fault point on a run's path, with a process that dies exactly there. */
import { describe, expect, test } from "vitest";
import type { FaultPoint } from "../../src/platform/fault-injection.ts";
import {
  createWithoutWorker,
  expectOneSoundRun,
  meetPoint,
  pointsAtStart,
  pointsInService,
  statusOf,
} from "./fault-points.ts";
import type { PromptdProcess } from "../support/promptd-process.ts";
import { useInstallation } from "../support/use-installation.ts";

const installation = useInstallation();

/** What the dead worker leaves behind: a committed claim counts, and no other. */
const ATTEMPTS: Partial<Record<FaultPoint, readonly number[]>> = {
  "claim.before_commit": [0],
  "claim.after_commit": [1],
};

describe("a process that is killed", () => {
  test.each(pointsAtStart())("at %s", async (point, way) => {
    const fixture = installation();
    const { api, response } = await createWithoutWorker(fixture, way);
    const doomed = await fixture.start("worker", { PROMPTD_FAULT: `${point}:kill@1` }).catch((error: unknown) => error);
    const end = doomed instanceof Error ? doomed.message : (await (doomed as PromptdProcess).exit).signal;
    expect(end).toContain("SIGKILL");
    const [row] = await fixture.db.query<{ attempt: number }>("select attempt from runs");
    expect(ATTEMPTS[point] ?? [0, 1]).toContain(row?.attempt);
    const next = await fixture.start("worker");
    expect((await response).runStatus).toBe("succeeded");
    await expectOneSoundRun(fixture);
    await Promise.all([api.stop(), next.stop()]);
  });

  test.each(pointsInService())("at %s", async (point, way) => {
    const fixture = installation();
    const { doomed, first, createUntilAnswered } = await meetPoint(fixture, "kill", [point, way]);
    expect(await doomed.exit).toEqual({ code: null, signal: "SIGKILL" });
    // No response at all, or, if draining had begun, that the run continues.
    expect([null, 504]).toContain(statusOf(await first));
    const second = await fixture.start();
    expect((await createUntilAnswered(second.url)).runStatus).toBe("succeeded");
    await expectOneSoundRun(fixture);
    await second.stop();
  });
});
