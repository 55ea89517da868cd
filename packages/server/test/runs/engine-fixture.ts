/** The queue and the ledger on a separate database, driven through the statements that workers use, without HTTP. */
import { createAccount } from "../../src/accounts/index.ts";
import { checkLedger, grantCredits, type LedgerReport } from "../../src/credits/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database, Queryable } from "../../src/platform/database/database.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import { CIRCLE_START, claimRuns, type Claim, type ClaimedRun } from "../../src/runs/work/claim.ts";
import { registerWorker } from "../../src/runs/work/lease.ts";
import { AccountLockQueue } from "../../src/runs/create/account-lock-queue.ts";
import { createRunRow, type CreateOutcome, type RunToCreate } from "../../src/runs/create/create-store.ts";
import { createSweep } from "../../src/runs/work/sweep.ts";
import { openTestDatabase } from "../support/test-database.ts";

/** Longer than any test takes on a busy machine: a lease ends only when a test ends it. */
export const LEASE_MS = 600_000;
const NOTHING_RUNS_MAX = 1_000;
/** A test may leave hundreds of runs, and a busy machine takes its time. */
const CLEAR_MS_MAX = 60_000;

export interface RunWish {
  readonly runId?: string;
  readonly model?: string;
  /** Null: a free run. */
  readonly hold?: number | null;
  /** Who earns from it, in percent; nobody if absent. */
  readonly author?: { readonly accountId: string; readonly sharePercent: number };
  /** The API key of the request; none if absent. */
  readonly keyId?: string;
  readonly key?: string;
  /** Stands for the request body if a key is given. */
  readonly body?: string;
  readonly inputs?: unknown;
  readonly deadlineSeconds?: number;
  readonly activeRunsMax?: number;
  /** Counted with the run if the run is claimed. */
  readonly firstCall?: RunToCreate["firstCall"];
}

export interface RunEndWish {
  readonly ok?: boolean;
  readonly credits?: number;
}

export interface RunState {
  readonly status: string;
  readonly attempt: number;
  readonly max_attempts: number;
  readonly worker: string | null;
  readonly credits: number | null;
  readonly fail_reason: string | null;
  readonly outputs: unknown;
}

export interface Swept {
  readonly requeued: string[];
  readonly failed: string[];
}

export interface Engine {
  readonly db: Database;
  readonly url: string;
  readonly newId: () => string;
  createAccount(credits?: number): Promise<string>;
  create(accountId: string, wish?: RunWish): Promise<CreateOutcome>;
  /** What `create` sends to the database. */
  runToCreate(accountId: string, wish?: RunWish): RunToCreate;
  /** Creates a run, which must succeed, and returns its id. */
  createRun(accountId: string, wish?: RunWish): Promise<string>;
  registerWorker(): Promise<string>;
  claim(workerId: string, runsMax?: number): Promise<readonly ClaimedRun[]>;
  claimFrom(workerId: string, runsMax: number, after: Claim["next"]): Promise<Claim>;
  /** @returns ids of the runs that became final by this call. */
  finish(workerId: string, runs: readonly ClaimedRun[], end?: RunEndWish): Promise<string[]>;
  stateOf(runId: string): Promise<RunState>;
  /** One whole sweep, as a worker makes it. */
  sweep(leaseMs?: number): Promise<Swept>;
  /** Moves the database's clock, which leases, limits, and expiries use. */
  shiftClock(seconds: number): Promise<void>;
  /** Everything that the audit reports; nothing for a sound database. */
  audit(): Promise<LedgerReport["mismatches"]>;
  /** Ends all runs, removes workers and limits, and resets the clock: cheaper than a database per test. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function openEngine(): Promise<Engine> {
  const { db, url, close } = await openTestDatabase({ log: createLog("error", "stderr"), poolMax: 20 });
  const newId = createIdSource(systemClock);
  const versionId = await publishVersion(db, newId);
  const locks = new AccountLockQueue();
  const create = (accountId: string, wish: RunWish = {}) => {
    const run = runOf(accountId, { runId: newId(), ...wish }, versionId);
    return locks.run(accountId, () => createRunRow(db, run));
  };
  return {
    db,
    url,
    newId,
    createAccount: async (credits = 0) => {
      const accountId = await createAccount(db, newId, { email: `${newId()}@example.org`, plan: "pro" });
      if (credits > 0) await grant(db, accountId, credits);
      return accountId;
    },
    create,
    runToCreate: (accountId, wish = {}) => runOf(accountId, { runId: newId(), ...wish }, versionId),
    createRun: async (accountId, wish) => {
      const outcome = await create(accountId, wish);
      if (outcome.kind !== "created") throw new Error(`not created: ${JSON.stringify(outcome)}`);
      return outcome.runId;
    },
    registerWorker: async () => {
      const workerId = newId();
      await registerWorker(db, workerId, "test");
      return workerId;
    },
    claim: async (workerId, runsMax = 200) =>
      (await claimRuns(db, { workerId, leaseMs: LEASE_MS }, { runsMax, after: CIRCLE_START })).runs,
    claimFrom: (workerId, runsMax, after) =>
      claimRuns(db, { workerId, leaseMs: LEASE_MS }, { runsMax, after: after ?? CIRCLE_START }),
    finish: (workerId, runs, end) => finishRuns(db, workerId, runs, end ?? {}),
    stateOf: async (runId) => {
      const [row] = await db.query<RunState>(
        "select status, attempt, max_attempts, worker, credits, fail_reason, outputs from runs where id = $1",
        [runId],
      );
      if (row === undefined) throw new Error(`no run ${runId}`);
      return row;
    },
    sweep: (leaseMs) => sweepRuns(db, leaseMs ?? LEASE_MS),
    shiftClock: (seconds) => shiftClock(db, seconds),
    audit: async () => (await checkLedger(db)).mismatches,
    clear: async () => {
      await shiftClock(db, 0);
      const cancelAll = "select run_cancel(account_id, id) from runs where finished_at is null";
      await db.tx((tx) => tx.query(cancelAll), { statementTimeoutMs: CLEAR_MS_MAX });
      await db.query("delete from workers");
      await db.query("delete from run_limits");
    },
    close,
  };
}

export async function shiftClock(db: Queryable, seconds: number): Promise<void> {
  await db.query(`create or replace function promptd_now() returns timestamptz language sql volatile
    as $$ select clock_timestamp() + interval '${seconds} seconds' $$`);
}

/** Stops the database's clock at a time, in microseconds since 1970. */
export async function stopClock(db: Queryable, us: number): Promise<void> {
  await db.query(`create or replace function promptd_now() returns timestamptz language sql volatile
    as $$ select timestamptz 'epoch' + ${Math.trunc(us)} * interval '1 microsecond' $$`);
}

/**
 * A stopped clock that is advanced through a row, for hundreds of steps: if the function were recreated, every session
 * would plan its statements again.
 *
 * @returns what sets it, to microseconds since 1970.
 */
export async function useSteppedClock(db: Queryable): Promise<(us: number) => Promise<void>> {
  await db.query("create table if not exists test_clock as select 0::int8 as us");
  // PostgreSQL 15 estimates a statement that may not scan tables sequentially as so expensive that it compiles it each
  // time.
  await db.query(`create or replace function promptd_now() returns timestamptz language sql volatile set jit = off
    as $$ select timestamptz 'epoch' + us * interval '1 microsecond' from test_clock $$`);
  return async (us) => void (await db.query("update test_clock set us = $1", [Math.trunc(us)]));
}

export async function grant(db: Database, accountId: string, amount: number, expiresAt: string | null = null) {
  return grantCredits(db, { accountId, amount, reason: "test", idempotencyKey: crypto.randomUUID(), expiresAt });
}

function runOf(accountId: string, wish: RunWish & { readonly runId: string }, versionId: string): RunToCreate {
  return {
    accountId,
    keyId: wish.keyId ?? null,
    requestId: wish.runId,
    runId: wish.runId,
    promptVersionId: versionId,
    runName: "test",
    model: wish.model ?? "sandbox/text",
    hold: wish.hold ?? null,
    prices: { author: wish.author ?? null },
    terms: null,
    inputs: wish.inputs ?? {},
    runOptions: {},
    deadlineSeconds: wish.deadlineSeconds ?? 600,
    activeRunsMax: wish.activeRunsMax ?? NOTHING_RUNS_MAX,
    idempotency:
      wish.key === undefined ? null : { key: wish.key, fingerprint: Buffer.alloc(32, wish.body ?? "the same") },
    firstCall: wish.firstCall ?? null,
  };
}

async function finishRuns(db: Database, workerId: string, runs: readonly ClaimedRun[], end: RunEndWish) {
  const rows = await db.query<{ id: string }>(
    "select run_finish as id from run_finish($1, $2, $3, $4, $5, $6, $7::json[], $8)",
    [
      workerId,
      runs.map((run) => run.accountId),
      runs.map((run) => run.runId),
      runs.map((run) => run.attempt),
      runs.map(() => end.ok ?? true),
      runs.map(() => end.credits ?? 0),
      runs.map(() => '[{"type":"text","data":"done"}]'),
      runs.map(() => (end.ok === false ? "broke" : null)),
    ],
  );
  return rows.map((row) => row.id);
}

async function sweepRuns(upkeep: Queryable, leaseMs: number): Promise<Swept> {
  const swept: Swept = { requeued: [], failed: [] };
  const sweep = createSweep({
    upkeep,
    leaseMs,
    log: createLog("silent", "stderr"),
    onRequeued: (runIds) => swept.requeued.push(...runIds),
    onFailed: (runIds) => swept.failed.push(...runIds),
  });
  sweep.begin();
  await sweep.untilIdle();
  return swept;
}

async function publishVersion(db: Database, newId: () => string): Promise<string> {
  const authorId = await createAccount(db, newId, { email: "author@example.org", plan: "none" });
  const [promptId, versionId] = [newId(), newId()];
  await db.query("insert into prompts (id, author_id, own_slug, slug) values ($1, $2, 'test', 'test')", [
    promptId,
    authorId,
  ]);
  await db.query(
    `insert into prompt_versions (id, prompt_id, number, title, description, tags, model, modality, definition, config,
       samples, estimated_credits, estimate_basis, published_at)
     values ($1, $2, 1, 'test', '', '[]', 'sandbox/text', 0, '{}', '{}', '[]', 0, '', promptd_now())`,
    [versionId, promptId],
  );
  return versionId;
}

export function createMany(
  engine: Engine,
  accountId: string,
  count: number,
  model = "sandbox/text",
): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => engine.createRun(accountId, { model })));
}

/** Expires a worker's lease: its last heartbeat was long ago. */
export async function letLeaseEnd({ db }: Engine, workerId: string): Promise<void> {
  await db.query(
    "update workers set heartbeat_at = promptd_now() - make_interval(secs => $2::float8 / 1000) where id = $1",
    [workerId, LEASE_MS + 1_000],
  );
}

export function idsOf(runs: readonly { readonly runId: string }[]): string[] {
  return runs.map((run) => run.runId);
}
