/** The table of settle.ts, row by row, on the database: the effect of each outcome on the run and its hold. */
import type { Run } from "@promptd/contract";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import type { Database } from "../../src/platform/database/database.ts";
import type { ClaimedRun } from "../../src/runs/work/claim.ts";
import { findRun } from "../../src/runs/runs-store.ts";
import { createFinisher } from "../../src/runs/work/finish.ts";
import { failed, type RunOutcome, type RunResult } from "../../src/runs/work/run-outcome.ts";
import { settle } from "../../src/runs/work/settle.ts";
import { openEngine, stopClock, type Engine } from "./engine-fixture.ts";

const log = createLog("silent", "stderr");
const SUCCESS: RunResult = { ok: true, outputs: [], credits: 4, reason: null, files: [] };
const never = new AbortController().signal;

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

/** A claimed run that holds 10 of 100 credits. */
async function claimOne(attemptsLeft: "some" | "none"): Promise<ClaimedRun> {
  const account = await engine.createAccount(100);
  const runId = await engine.createRun(account, { hold: 10 });
  if (attemptsLeft === "none") await engine.db.query("update runs set max_attempts = 1 where id = $1", [runId]);
  const [run] = await engine.claim(await engine.registerWorker());
  if (run === undefined) throw new Error("nothing was claimed");
  return run;
}

function settleOn(db: Database, run: ClaimedRun, outcome: RunOutcome, signal = never): Promise<void> {
  const finisher = createFinisher({
    db,
    files: { recordOutputs: async () => {} },
    log,
    onWritten: () => {},
    onFinished: () => {},
  });
  return settle(run, outcome, signal, { db, log, finisher });
}

async function stateAfter(run: ClaimedRun) {
  const { status, worker, attempt, max_attempts: most, fail_reason: reason } = await engine.stateOf(run.runId);
  const [money] = await engine.db.query<{ posted: number; held: number }>(
    "select posted, held from credit_accounts where account_id = $1",
    [run.accountId],
  );
  const [delay] = await engine.db.query<{ seconds: number }>(
    "select round(extract(epoch from run_at - promptd_now()))::int as seconds from runs where id = $1",
    [run.runId],
  );
  const isWaiting = worker === null && reason === null && status === "running";
  return { status, reason, money, attemptsLeft: most - attempt, delay: isWaiting ? (delay?.seconds ?? null) : null };
}

const CAPTURED = { posted: 96, held: 0 };
const FREED = { posted: 100, held: 0 };
const HELD = { posted: 100, held: 10 };
const error = new Error("for the test");

const DONE = { reason: null, delay: null, money: CAPTURED };
const FAILED = { reason: "no_usable_output", delay: null, money: FREED };
const LATER = { reason: null, status: "running", money: HELD };

test.each<[RunOutcome, "some" | "none", Awaited<ReturnType<typeof stateAfter>>]>([
  [{ kind: "finished", result: SUCCESS }, "some", { ...DONE, status: "succeeded", attemptsLeft: 2 }],
  [{ kind: "finished", result: SUCCESS }, "none", { ...DONE, status: "succeeded", attemptsLeft: 0 }],
  [failed("no_usable_output", "x"), "some", { ...FAILED, status: "failed", attemptsLeft: 2 }],
  [failed("no_usable_output", "x"), "none", { ...FAILED, status: "failed", attemptsLeft: 0 }],
  [{ kind: "postponed", delayMs: 60_000 }, "some", { ...LATER, attemptsLeft: 3, delay: 60 }],
  [{ kind: "postponed", delayMs: 60_000 }, "none", { ...LATER, attemptsLeft: 1, delay: 60 }],
  [{ kind: "interrupted", error }, "some", { ...LATER, attemptsLeft: 3, delay: 1 }],
  [{ kind: "interrupted", error }, "none", { ...LATER, attemptsLeft: 1, delay: 1 }],
  [{ kind: "crashed", error }, "some", { ...LATER, attemptsLeft: 2, delay: 1 }],
  [{ kind: "crashed", error }, "none", { ...FAILED, reason: "broken", status: "failed", attemptsLeft: 0 }],
])("$0.kind, attempts left: %1$s: the run, its hold and its next owner are as the table says", async (...row) => {
  const [outcome, attemptsLeft, expected] = row;
  const run = await claimOne(attemptsLeft);
  await stopClock(engine.db, Date.now() * 1_000); // a delay is read exactly, however busy the machine is
  await settleOn(engine.db, run, outcome);
  expect(await stateAfter(run)).toEqual(expected);
  expect(await engine.audit()).toEqual([]);
});

test.each<[string, RunOutcome, AbortSignal]>([
  ["a revoked run", { kind: "revoked" }, never],
  ["a run that was revoked as it finished", { kind: "finished", result: SUCCESS }, AbortSignal.abort()],
  ["a run that was revoked as it crashed", { kind: "crashed", error }, AbortSignal.abort()],
])("%s is left to the code that revoked it", async (_what, outcome, signal) => {
  const run = await claimOne("some");
  const before = await engine.stateOf(run.runId);
  await settleOn(engine.db, run, outcome, signal);
  expect(await engine.stateOf(run.runId)).toEqual(before);
});

/** Fails each statement the first times it is sent. */
function failing(times: number): Database {
  let left = times;
  const orFail = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    left -= 1;
    if (left >= 0) throw new Error("Connection terminated unexpectedly");
    return work();
  };
  return {
    ...engine.db,
    query: (...call) => orFail(() => engine.db.query(...call)),
    tx: (work, options) => orFail(() => engine.db.tx(work, options)),
  };
}

test.each<[string, RunOutcome, string]>([
  ["finished", { kind: "finished", result: SUCCESS }, "succeeded"],
  ["postponed", { kind: "postponed", delayMs: 0 }, "running"],
  ["crashed without another attempt", { kind: "crashed", error }, "failed"],
])("a run that %s is settled despite a database outage", async (_what, outcome, status) => {
  const run = await claimOne("none");
  await settleOn(failing(2), run, outcome);
  expect(await engine.stateOf(run.runId)).toMatchObject({ status, worker: null });
  expect(await engine.audit()).toEqual([]);
});

test("a run that cannot be released is abandoned once it is revoked", async () => {
  const run = await claimOne("some");
  const revoke = new AbortController();
  const db = failing(Infinity);
  const settled = settleOn(
    { ...db, query: (...call) => (queueMicrotask(() => revoke.abort()), db.query(...call)) },
    run,
    { kind: "postponed", delayMs: 0 },
    revoke.signal,
  );
  await expect(settled).resolves.toBeUndefined();
});

test.each<[string, number | null, Partial<RunResult>]>([
  ["succeeded", 10, {}],
  ["cost more than its hold", 10, { credits: 99 }],
  ["failed", 10, { ok: false, reason: "no_usable_output", credits: 0 }],
  ["was free", null, { credits: 0 }],
])("a run that %s is delivered to local waiters as the database has it", async (_what, hold, change) => {
  const account = await engine.createAccount(100);
  const runId = await engine.createRun(account, { hold });
  const [run] = await engine.claim(await engine.registerWorker());
  if (run === undefined) throw new Error("nothing was claimed");
  const delivered: Run[] = [];
  const { db } = engine;
  const onWritten = (runs: readonly Run[]): void => void delivered.push(...runs);
  const files = { recordOutputs: async () => {} };
  const finisher = createFinisher({ db, files, log, onWritten, onFinished: () => {} });
  await finisher.finish(run, { ...SUCCESS, outputs: [{ type: "text", data: "Tea é\u2028." }], ...change }, never);
  expect(delivered).toEqual([await findRun(db, account, runId)]);
});
