import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createAdmissionControl, revokeApiKey, type AdmissionControl } from "../../src/accounts/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { openEngine, stopClock, useSteppedClock, type Engine } from "../runs/engine-fixture.ts";
import { admissionsOf, createKeys, noteAdmissions, worstWindow } from "./limiter-fixture.ts";

const log = createLog("error", "stderr");
let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
  await noteAdmissions(engine);
});
afterEach(() => engine.shiftClock(0));
afterAll(() => engine.close());

function openAdmission(db: Database = engine.db, sleep?: (ms: number) => Promise<unknown>): AdmissionControl {
  const options = { db, clock: systemClock, log, limitPerSecond: 5, scope: "account", plans: true } as const;
  return createAdmissionControl(sleep === undefined ? options : { ...options, sleep });
}

async function request(control: AdmissionControl, apiKey: string): Promise<"admitted" | number> {
  const admission = await control.admit({ authorization: [`Bearer ${apiKey}`], address: "127.0.0.1" });
  return admission.kind === "admitted" ? "admitted" : admission.problem.httpStatus;
}

describe("the limiter", () => {
  test("admits exactly five of a hundred requests that arrive together, and asks the others to wait a second", async () => {
    const { apiKeys } = await createKeys(engine, 1);
    const control = openAdmission();
    const admissions = await Promise.all(
      Array.from({ length: 100 }, () => control.admit({ authorization: [`Bearer ${apiKeys[0]}`], address: "" })),
    );
    expect(admissions.filter((admission) => admission.kind === "admitted")).toHaveLength(5);
    for (const admission of admissions) {
      if (admission.kind === "admitted") continue;
      expect(admission.problem).toMatchObject({ httpStatus: 429, headers: { "retry-after": "1" } });
      expect(admission.remaining).toBe(0);
    }
  });

  test("counts each account separately, also within one batch", async () => {
    const [one, two] = [await createKeys(engine, 2), await createKeys(engine, 1)];
    const control = openAdmission();
    const keys = Array.from({ length: 30 }, (_, i) => [...one.apiKeys, ...two.apiKeys][i % 3] ?? "");
    await Promise.all(keys.map((key) => request(control, key)));
    expect(await admissionsOf(engine, one.accountId)).toHaveLength(5);
    expect(await admissionsOf(engine, two.accountId)).toHaveLength(5);
  });

  test("admits every request of a caller that sends five per second, on a clock without jitter", async () => {
    const { answers } = await callSteadily(50, () => 0);
    expect(answers.filter((answer) => answer === "admitted")).toHaveLength(50);
  });

  // Seeds, so that a failure can be repeated. 40 ms each way is the jitter of a busy machine, 80 ms that of a machine
  // with several times more work than processors.
  test.each([
    [40, 1],
    [40, 2],
    [40, 3],
    [80, 1],
    [80, 2],
  ])(
    "admits at least 99% of the requests of a caller that sends five per second with %i ms of jitter each way (seed %i)",
    async (ms, seed) => {
      const jitterUs = fc.sample(fc.integer({ min: ms * -1_000, max: ms * 1_000 }), { seed, numRuns: 300 });
      const { accountId, answers } = await callSteadily(300, (i) => jitterUs[i] ?? 0);
      expect(answers.filter((answer) => answer === "admitted").length).toBeGreaterThanOrEqual(297);
      expect(worstWindow(await admissionsOf(engine, accountId))).toBe(5);
    },
  );

  /** Calls every 200 ms, each shifted by its jitter, on a clock that only the calls and their waits advance. */
  async function callSteadily(count: number, jitterUs: (i: number) => number) {
    const { accountId, apiKeys } = await createKeys(engine, 1);
    const startUs = 1_000_000_000_000_000;
    const setClock = await useSteppedClock(engine.db);
    const due: { us: number; go: () => void }[] = Array.from({ length: count }, (_, i) => ({
      us: startUs + i * 200_000 + jitterUs(i),
      go: () => void call(),
    }));
    const answers: ("admitted" | number)[] = [];
    let nowUs = startUs;
    let settle = () => {};
    const control = openAdmission(engine.db, (ms) => {
      return new Promise<void>((resolve) => {
        due.push({ us: nowUs + ms * 1_000, go: resolve });
        settle(); // the call sleeps: the next event is due
      });
    });
    async function call(): Promise<void> {
      answers.push(await request(control, apiKeys[0] ?? ""));
      settle();
    }
    while (due.length > 0) {
      due.sort((one, other) => one.us - other.us);
      const event = due.shift();
      if (event === undefined) break;
      nowUs = event.us;
      await setClock(nowUs);
      const settled = new Promise<void>((resolve) => (settle = resolve));
      event.go();
      await settled;
    }
    return { accountId, answers };
  }

  test("recovers within a second when the database's clock steps back an hour", async () => {
    const { apiKeys } = await createKeys(engine, 1);
    const key = apiKeys[0] ?? "";
    const control = openAdmission();
    await stopClock(engine.db, 5_000_000_000);
    for (let i = 0; i < 5; i += 1) expect(await request(control, key)).toBe("admitted");
    expect(await request(control, key)).toBe(429);
    await stopClock(engine.db, 5_000_000_000 - 3_600_000_000);
    expect(await request(control, key)).toBe("admitted");
  });
});

describe("a key", () => {
  test("revoked by one process is refused by the next request to another", async () => {
    const { apiKeys, keyIds } = await createKeys(engine, 1);
    const there = await openDatabase({ url: engine.url, role: "other", log, poolMax: 2 });
    try {
      const control = openAdmission(there);
      expect(await request(control, apiKeys[0] ?? "")).toBe("admitted");
      await revokeApiKey(engine.db, keyIds[0] ?? "");
      expect(await request(control, apiKeys[0] ?? "")).toBe(401);
    } finally {
      await there.close();
    }
  });

  test("that is revoked or unknown is not counted", async () => {
    const { accountId, apiKeys, keyIds } = await createKeys(engine, 2);
    await revokeApiKey(engine.db, keyIds[0] ?? "");
    const control = openAdmission();
    for (let i = 0; i < 8; i += 1) expect(await request(control, apiKeys[0] ?? "")).toBe(401);
    expect(await admissionsOf(engine, accountId)).toEqual([]);
    expect(await request(control, apiKeys[1] ?? "")).toBe("admitted");
  });
});
