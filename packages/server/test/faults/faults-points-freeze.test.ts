/** Points on a run's path, with a process that freezes exactly there, is replaced by another one, and wakes up. */
import { describe, expect, test } from "vitest";
import {
  createWithoutWorker,
  expectOneSoundRun,
  isFrozen,
  meetPoint,
  pointsAtStart,
  pointsInService,
} from "./fault-points.ts";
import type { InstallationFixture } from "../support/installation-fixture.ts";
import { until } from "../support/promptd-process.ts";
import { useInstallation } from "../support/use-installation.ts";

const installation = useInstallation();

describe("a process that is frozen, replaced, and woken", () => {
  test.each(pointsInService(["call.before_send", "finish.before_commit"]))("at %s", async (point, way) => {
    const fixture = installation();
    const { doomed, first, createUntilAnswered } = await meetPoint(fixture, "stop", [point, way]);
    await until(() => isFrozen(doomed.pid));
    // It may be frozen with row locks of an open transaction: the database ends that after its own time limit.
    const second = await fixture.start();
    const response = await createUntilAnswered(second.url);
    doomed.signal("SIGCONT");
    await first;
    expect(response.runStatus).toBe("succeeded");
    await expectOneSoundRun(fixture);
    await Promise.all([doomed.stop(), second.stop()]);
    await expectOneSoundRun(fixture);
  });

  test.each(pointsAtStart(["claim.after_commit"]))("at %s", async (point, way) => {
    const fixture = installation();
    const { api, response } = await createWithoutWorker(fixture, way);
    const starting = fixture.start("worker", { PROMPTD_FAULT: `${point}:stop@1` });
    starting.catch(() => {}); // handled where it is awaited
    const pid = await pidOfFrozenWorker(fixture);
    const second = await fixture.start("worker");
    expect((await response).runStatus).toBe("succeeded");
    process.kill(pid, "SIGCONT");
    // A start that was frozen for longer than its statements may take fails; then it is started again.
    const woken = await starting.catch(() => null);
    await expectOneSoundRun(fixture);
    await Promise.all([api.stop(), woken?.stop(), second.stop()]);
    await expectOneSoundRun(fixture);
  });
});

/** It wrote its own row before its first claim, and is not ready yet. */
async function pidOfFrozenWorker(fixture: InstallationFixture): Promise<number> {
  let pid = 0;
  await until(async () => {
    const [row] = await fixture.db.query<{ os_pid: number }>("select os_pid from workers");
    pid = row?.os_pid ?? 0;
    return pid !== 0 && isFrozen(pid);
  });
  return pid;
}
