/** The effect of each event on a run in each of its states, cell by cell, on the database. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { RunStatus } from "@promptd/contract";
import { releaseRun } from "../../src/runs/work/settle.ts";
import { cancelRunRow } from "../../src/runs/runs-store.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";

/** `released`: the run no longer has a worker (lease expired, worker draining, provider said "later"). */
type RunTransition = "claimed" | "completed" | "broke" | "canceled" | "released" | "gave-up";

/**
 * The whole life of a run, as callers see it. `null` means that the event cannot happen in that state and is ignored: a
 * worker that lost its lease may still report, and must change nothing.
 */
const TRANSITIONS: Record<RunStatus, Record<RunTransition, RunStatus | null>> = {
  queued: { claimed: "running", completed: null, broke: null, canceled: "failed", released: null, "gave-up": "failed" },
  running: {
    claimed: "running",
    completed: "succeeded",
    broke: "failed",
    canceled: "failed",
    released: "running",
    "gave-up": "failed",
  },
  succeeded: { claimed: null, completed: null, broke: null, canceled: null, released: null, "gave-up": null },
  failed: { claimed: null, completed: null, broke: null, canceled: null, released: null, "gave-up": null },
};

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

describe("the table of run states is what the database does", () => {
  const STATES: readonly RunStatus[] = ["queued", "running", "succeeded", "failed"];
  const EVENTS = Object.keys(TRANSITIONS.queued) as RunTransition[];

  for (const state of STATES) {
    for (const event of EVENTS) {
      const expected = TRANSITIONS[state][event];
      test(`${state} + ${event} -> ${expected ?? "nothing"}`, async () => {
        const { account, runId, worker } = await bringTo(state);
        const before = await engine.stateOf(runId);
        await happen(event, { account, runId, worker });
        const after = await engine.stateOf(runId);
        expect(after.status).toBe(expected ?? before.status);
        expect(expected === null ? after : before).toEqual(before); // nothing changes at all where nothing can happen
        expect(await engine.audit()).toEqual([]);
      });
    }
  }

  interface RunInState {
    readonly account: string;
    readonly runId: string;
    readonly worker: string;
  }

  async function bringTo(state: RunStatus): Promise<RunInState> {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 10, deadlineSeconds: 60 });
    const worker = await engine.registerWorker();
    if (state === "queued") return { account, runId, worker };
    const runs = await engine.claim(worker);
    if (state === "running") return { account, runId, worker };
    await engine.finish(worker, runs, { ok: state === "succeeded", credits: 5 });
    return { account, runId, worker };
  }

  /** Acts as the worker that last had the run, with the attempt that the run shows: the most a late report can know. */
  async function happen(event: RunTransition, { account, runId, worker }: RunInState): Promise<void> {
    const { attempt } = await engine.stateOf(runId);
    const run = { accountId: account, runId, workerId: worker, attempt } as Parameters<typeof engine.finish>[1][number];
    switch (event) {
      case "claimed":
        // A running run is claimed again once its worker has lost it.
        await engine.db.query("update runs set worker = null where id = $1 and status = 'running'", [runId]);
        return void (await engine.claim(worker));
      case "completed":
        return void (await engine.finish(worker, [run], { credits: 7 }));
      case "broke":
        return void (await engine.finish(worker, [run], { ok: false }));
      case "canceled":
        return void (await cancelRunRow(engine.db, account, runId));
      case "released":
        return void (await releaseRun(engine.db, run, 0));
      case "gave-up":
        await engine.shiftClock(61);
        return void (await engine.sweep());
    }
  }
});
