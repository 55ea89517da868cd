/**
 * The end of a run was written, but the database's response was lost: everyone waiting for the run still learns of it.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { createFinisher } from "../../src/runs/work/finish.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

/** The same database, with the response to its first commit lost. */
function losingFirstAnswer(db: Database): Database {
  let isLost = false;
  return {
    ...db,
    tx: async (work, options) => {
      const result = await db.tx(work, options);
      if (isLost) return result;
      isLost = true;
      throw new Error("Connection terminated unexpectedly");
    },
  };
}

test("an end that is written twice is announced and charged once", async () => {
  const account = await engine.createAccount(10);
  const runId = await engine.createRun(account, { hold: 2 });
  const workerId = await engine.registerWorker();
  const [run] = await engine.claim(workerId);
  if (run === undefined) throw new Error("nothing was claimed");
  const announced: string[] = [];
  const finisher = createFinisher({
    db: losingFirstAnswer(engine.db),
    files: { recordOutputs: async () => {} },
    log: createLog("silent"),
    onWritten: () => {},
    onFinished: (runIds) => announced.push(...runIds),
  });
  const end = { ok: true, outputs: [], credits: 1, reason: null, files: [] };
  await finisher.finish(run, end, new AbortController().signal);
  expect(announced).toEqual([runId]);
  expect(await engine.stateOf(runId)).toMatchObject({ status: "succeeded", credits: 1 });
  expect(await engine.audit()).toEqual([]);
});
