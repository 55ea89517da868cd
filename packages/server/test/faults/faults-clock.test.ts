/** Clocks that jump during runs: the database's, which leases and limits follow, and the machine's own. */
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../src/platform/clock.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { findFaults } from "../support/installation-fixture.ts";
import { until } from "../support/promptd-process.ts";

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text\ninputs: { ask: {} }\n---\n{{ ask }}\n";
const PICTURE =
  "---\npromptd: 1\ntitle: Picture\nmodel: sandbox/image\ninputs: { ask: {} }\noptions: { size: 256x256 }\n---\n{{ ask }}\n";
const ENVIRONMENT = { PROMPTD_LEASE_MS: "1500", PROMPTD_SECRET: "the same for all processes of a test" };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let server: TestServer;
let caller: TestCaller;
let shiftMs: number;
/** The machine's clock, offset by the given amount. */
const clock: Clock = { nowMs: () => systemClock.nowMs() + shiftMs };
beforeEach(async () => {
  shiftMs = 0;
  server = await startTestServer({ environment: ENVIRONMENT, clock });
  caller = await server.createCaller();
});
afterEach(() => server.close());

const textOf = (ask: string) => ({ inputs: { textInputs: { ask } } });
const running = () => server.app.db.query<{ attempt: number }>("select attempt from runs where worker is not null");
const hasOne = async () => (await running()).length === 1;

describe("the database's clock", () => {
  test.each([60, -60, -3_600])(
    "jumping by %i s in the middle of a run costs it at most one attempt",
    async (seconds) => {
      const { promptVersionId } = await server.publish(ECHO);
      const body = { promptVersionId, ...textOf("sandbox: delay=2500\nslow") };
      const ended = caller.client.runs.createAndWait(body);
      await until(hasOne);
      await server.shiftTime(seconds);
      expect((await ended).runStatus).toBe("succeeded");
      const [row] = await server.app.db.query<{ attempt: number }>("select attempt from runs");
      expect(row?.attempt).toBeLessThanOrEqual(2);
      expect((await caller.client.runs.createAndWait({ promptVersionId, ...textOf("next") })).runStatus).toBe(
        "succeeded",
      );
      expect(await findFaults(server.app.db)).toEqual([]);
    },
  );

  test("jumping past a run's deadline ends it without a charge", async () => {
    const { promptVersionId } = await server.publish(ECHO);
    const body = { promptVersionId, ...textOf("sandbox: delay=60000\nslow") };
    const ended = caller.client.runs.createAndWait(body);
    await until(hasOne);
    await server.shiftTime(3_600);
    expect(await ended).toMatchObject({ runStatus: "failed" });
    expect((await caller.client.me.credits()).credits).toBe(1_000);
    expect(await findFaults(server.app.db)).toEqual([]);
  });

  test("alone decides when a plan ends, forward and backward", async () => {
    await server.app.db.query("update accounts set pro_until = clock_timestamp() + interval '1 hour' where id = $1", [
      caller.accountId,
    ]);
    const status = async () => (await caller.client.request({ method: "GET", path: "/v1/me" })).httpStatus;
    const seen = [await status()];
    for (const seconds of [3_601, 0, -3_600]) {
      await server.shiftTime(seconds);
      seen.push(await status());
    }
    expect(seen).toEqual([200, 402, 200, 200]);
  });
});

describe("a machine whose own clock is wrong", () => {
  test.each(["all", "worker"] as const)(
    "is named in the log of a process with the role %s, even if nothing calls /readyz",
    async (role) => {
      shiftMs = 60_000;
      const lines: Record<string, unknown>[] = [];
      const log = pino(
        { base: null },
        { write: (line: string) => void lines.push(JSON.parse(line) as object as never) },
      );
      const other = await startTestServer({ environment: ENVIRONMENT, clock, log, role });
      onTestFinished(() => other.close());
      const found = { clock: expect.stringMatching(/ s ahead of the database's clock$/) as string, msg: "not ready" };
      await expect.poll(() => lines).toContainEqual(expect.objectContaining(found));
    },
    60_000,
  );

  test.each([25 * HOUR_MS, -25 * HOUR_MS])("by %i ms runs, counts, and holds its lease like any other", async (ms) => {
    shiftMs = ms;
    const { promptVersionId } = await server.publish(ECHO);
    const ended = caller.client.runs.createAndWait({ promptVersionId, ...textOf("sandbox: delay=2000\nslow") });
    await until(hasOne);
    expect((await ended).runStatus).toBe("succeeded");
    expect((await server.app.db.query("select attempt from runs"))[0]).toEqual({ attempt: 1 });
    expect(await findFaults(server.app.db)).toEqual([]);
  });

  test("that changes while a request waits ends no wait early or late, because waits do not depend on it", async () => {
    const { promptVersionId } = await server.publish(ECHO);
    const ended = caller.client.runs.create({ promptVersionId, ...textOf("sandbox: delay=3000\nslow") });
    await until(hasOne);
    for (const ms of [HOUR_MS, -HOUR_MS, 10 * DAY_MS]) {
      shiftMs = ms;
      expect((await caller.client.me.get()).userFlags).toBeGreaterThanOrEqual(0);
    }
    expect((await ended).runStatus).toBe("succeeded");
    expect(await findFaults(server.app.db)).toEqual([]);
  });

  test("opens a file's address until its expiry by its own clock, and not after", async () => {
    const { promptVersionId } = await server.publish(PICTURE);
    const run = await caller.client.runs.createAndWait({ promptVersionId, ...textOf("a picture") });
    const [output] = run.outputs;
    const url = output?.data ?? "";
    const statusAt = async (ms: number) => {
      shiftMs = ms;
      return (await fetch(url)).status;
    };
    expect(await statusAt(0)).toBe(200);
    expect(await statusAt(DAY_MS - 60_000)).toBe(200);
    expect(await statusAt(DAY_MS + 60_000)).toBe(410);
    expect(await statusAt(-DAY_MS)).toBe(200); // back again: nothing was forgotten, nothing was signed again
  });
});
