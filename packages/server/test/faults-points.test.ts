/**
 * Every named point of a run's way, with a process that dies, freezes or loses its database connections exactly there.
 * Whatever happens, the same Idempotency-Key leads to one run that ends, is charged once and leaves no hold.
 * PROMPTD_TEST_FAULTS=all runs every point with every action; without it each point meets `kill`, and one each the others.
 */
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CreateRunBody } from "@promptd/contract";
import { PromptdConnectionError, PromptdError } from "@promptd/client";
import { FAULT_POINTS, type FaultPoint } from "../src/platform/fault.ts";
import { cleanUp, createDataDir } from "./embedded-process.ts";
import { openInstallationFixture, type InstallationCaller, type InstallationFixture } from "./installation-fixture.ts";
import { killLeftovers, runCommand, until, type PromptdProcess } from "./promptd-process.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";

let database: TestDatabase;
let fixture: InstallationFixture;
beforeEach(async () => {
  database = await createTestDatabase();
  fixture = await openInstallationFixture(database.url);
});
afterEach(async () => {
  await killLeftovers();
  await fixture.close();
  await database.drop();
});

interface Way {
  readonly prompt: keyof InstallationFixture["prompts"];
  readonly ask: string;
}
const QUICK: Way = { prompt: "paid", ask: "hello" };
const SLOW: Way = { prompt: "paid", ask: "sandbox: delay=4000\nslow" };

/** The points that a run or its caller passes, and a run that passes them. */
const ON_THE_WAY: Partial<Record<FaultPoint, Way>> = {
  "create.blob_stored": { prompt: "photo", ask: "a photo" },
  "create.before_commit": QUICK,
  "create.after_commit": QUICK,
  "create.before_reply": QUICK,
  "wait.registered": QUICK,
  "wait.before_reply": QUICK,
  "drain.started": SLOW,
  "claim.before_commit": QUICK,
  "claim.after_commit": QUICK,
  "images.after_fetch": { prompt: "photo", ask: "a photo" },
  "call.before_send": QUICK,
  "call.after_send": { prompt: "clip", ask: "a clip" },
  "op.persisted": { prompt: "clip", ask: "a clip" },
  "call.after_answer": QUICK,
  "blob.after_rename": { prompt: "picture", ask: "a picture" },
  "finish.before_commit": QUICK,
  "finish.after_commit": QUICK,
  "notify.send": QUICK,
  "beat.before": SLOW,
  "sweep.before_commit": SLOW,
};

/** Points off that way, and where they are tested. */
const ELSEWHERE: Partial<Record<FaultPoint, string>> = {
  "grant.before_commit": "below",
  "expire.before_commit": "below",
  "migrate.mid": "below",
  "embedded.init_mid": "embedded.test.ts",
  "embedded.before_ready": "embedded.test.ts",
  "file.after_mark": "files.test.ts",
  "file.after_unlink": "files.test.ts",
};

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function bodyOf(way: Way): CreateRunBody {
  const imageInputs = way.prompt === "photo" ? [{ type: "base64" as const, base64: PIXEL }] : [];
  return { promptVersionId: fixture.prompts[way.prompt], inputs: { textInputs: { ask: way.ask }, imageInputs } };
}

/** As a caller that does not give up: the same key until there is an answer about the run. */
async function createUntilTold(caller: InstallationCaller, url: string, body: CreateRunBody) {
  for (;;) {
    try {
      return await caller.clientAt(url).runs.createAndWait(body, { idempotencyKey: "the-key" });
    } catch (error) {
      if (!(error instanceof PromptdError) || error.httpStatus !== 500) throw error;
    }
  }
}

async function startDoomed(point: FaultPoint, action: string): Promise<PromptdProcess> {
  return fixture.start("all", { PROMPTD_FAULT: `${point}:${action}@1`, PROMPTD_DRAIN_SECONDS: "30" });
}

/** The first try ends as it ends: with an answer, an error or no connection. */
function tryOnce(caller: InstallationCaller, url: string, body: CreateRunBody): Promise<unknown> {
  return caller
    .clientAt(url)
    .runs.create(body, { idempotencyKey: "the-key" })
    .catch((error: unknown) => error);
}

/** Null: the connection was lost. */
function statusOf(told: unknown): number | null | undefined {
  if (told instanceof PromptdConnectionError) return null;
  return told instanceof PromptdError ? told.httpStatus : undefined;
}

async function beginDrain(point: FaultPoint, doomed: PromptdProcess): Promise<void> {
  if (point !== "drain.started") return;
  await until(async () => (await fixture.db.query("select 1 from runs where worker is not null")).length === 1);
  doomed.signal("SIGTERM");
}

async function expectOneSoundRun(): Promise<void> {
  expect(await fixture.db.query("select status, attempt <= 3 as few from runs")).toEqual([
    { status: "succeeded", few: true },
  ]);
  expect(await fixture.findFaults()).toEqual([]);
}

async function isFrozen(pid: number): Promise<boolean> {
  return /\) T /.test(await readFile(`/proc/${pid}/stat`, "utf8"));
}

const isFull = process.env["PROMPTD_TEST_FAULTS"] === "all";
const points = Object.entries(ON_THE_WAY) as [FaultPoint, Way][];
const some = (names: readonly FaultPoint[]) =>
  points.filter(([point]) => !AT_CLAIM.includes(point) && (isFull || names.includes(point)));

/** A worker claims before it says that it is ready, so these meet a worker that starts when the run is there. */
const AT_CLAIM: readonly FaultPoint[] = ["claim.before_commit", "claim.after_commit"];

describe("a process that is killed", () => {
  test.each(AT_CLAIM)("at %s", { timeout: 90_000 }, async (point) => {
    const caller = await fixture.createCaller();
    const api = await fixture.start("api");
    const first = caller.clientAt(api.url).runs.create(bodyOf(QUICK), { idempotencyKey: "the-key" });
    await until(async () => (await fixture.db.query("select 1 from runs")).length === 1);
    const doomed = await fixture.start("worker", { PROMPTD_FAULT: `${point}:kill@1` }).catch((error: unknown) => error);
    const end = doomed instanceof Error ? doomed.message : (await (doomed as PromptdProcess).exit).signal;
    expect(end).toContain("SIGKILL");
    const [row] = await fixture.db.query<{ attempt: number }>("select attempt from runs");
    expect(row?.attempt).toBe(point === "claim.after_commit" ? 1 : 0);
    const next = await fixture.start("worker");
    expect((await first).runStatus).toBe("succeeded");
    await expectOneSoundRun();
    await Promise.all([api.stop(), next.stop()]);
  });

  test.each(points.filter(([point]) => !AT_CLAIM.includes(point)))("at %s", { timeout: 90_000 }, async (point, way) => {
    const caller = await fixture.createCaller();
    const doomed = await startDoomed(point, "kill");
    const first = tryOnce(caller, doomed.url, bodyOf(way));
    await beginDrain(point, doomed);
    expect(await doomed.exit).toEqual({ code: null, signal: "SIGKILL" });
    // Told nothing at all, or, where draining had begun, that the run goes on.
    expect([null, 504]).toContain(statusOf(await first));
    const second = await fixture.start();
    expect((await createUntilTold(caller, second.url, bodyOf(way))).runStatus).toBe("succeeded");
    await expectOneSoundRun();
    await second.stop();
  });
});

describe("a process that is frozen, outlived and woken", () => {
  test.each(some(["call.before_send", "finish.before_commit"]))("at %s", { timeout: 90_000 }, async (point, way) => {
    const caller = await fixture.createCaller();
    const doomed = await startDoomed(point, "stop");
    const first = tryOnce(caller, doomed.url, bodyOf(way));
    await beginDrain(point, doomed);
    await until(() => isFrozen(doomed.pid));
    // It may sleep on row locks of an open transaction: the database ends that after its own time limit.
    const second = await fixture.start();
    const told = await createUntilTold(caller, second.url, bodyOf(way));
    doomed.signal("SIGCONT");
    await first;
    expect(told.runStatus).toBe("succeeded");
    await expectOneSoundRun();
    await Promise.all([doomed.stop(), second.stop()]);
    await expectOneSoundRun();
  });
});

describe("a process that loses its database connections", () => {
  test.each(some(["create.before_commit", "finish.before_commit"]))(
    "at %s",
    { timeout: 90_000 },
    async (point, way) => {
      const caller = await fixture.createCaller();
      const server = await startDoomed(point, "cut");
      const first = tryOnce(caller, server.url, bodyOf(way));
      await beginDrain(point, server);
      await first;
      if (point === "drain.started") await server.exit;
      const next = point === "drain.started" ? await fixture.start() : server;
      expect((await createUntilTold(caller, next.url, bodyOf(way))).runStatus).toBe("succeeded");
      await expectOneSoundRun();
    },
  );
});

describe("off the way of a run", () => {
  test("a grant that died before its commit is made once by the same key", { timeout: 90_000 }, async () => {
    const { accountId } = await fixture.createCaller(10);
    const argv = ["admin", "credits", "grant", "--user", accountId, "--amount", "5", "--idempotency-key", "g"];
    const died = await runCommand(argv, { ...fixture.environment, PROMPTD_FAULT: "grant.before_commit:kill" });
    expect(died.code).toBeNull();
    for (let i = 0; i < 2; i += 1) {
      expect(await runCommand(argv, fixture.environment)).toMatchObject({ code: 0, result: { credits: 15 } });
    }
    expect(await fixture.findFaults()).toEqual([]);
  });

  test("an expiry that died before its commit happens once afterwards", { timeout: 90_000 }, async () => {
    const { accountId } = await fixture.createCaller(10);
    await fixture.db.query("insert into credit_grants (account_id, remaining, expires_at) values ($1, 4, now())", [
      accountId,
    ]);
    const doomed = await fixture.start("worker", { PROMPTD_FAULT: "expire.before_commit:kill" }).catch(() => null);
    await doomed?.exit;
    await fixture.db.query("update cron_ticks set next_at = now() where name = 'credit_expiry'");
    const next = await fixture.start("worker");
    const expired = () => fixture.db.query("select amount from credit_transfers where kind = 'expire'");
    await until(async () => (await expired()).length > 0);
    await next.stop();
    expect(await expired()).toEqual([{ amount: 4 }]);
    expect(await fixture.findFaults()).toEqual([]);
  });

  test("a migration that died half-way is undone, and done by the next start", { timeout: 90_000 }, async () => {
    const environment = { PROMPTD_DATA_DIR: await createDataDir(), PROMPTD_LOG_LEVEL: "error" };
    try {
      const died = await runCommand(["migrate"], { ...environment, PROMPTD_FAULT: "migrate.mid:kill@3" });
      expect(died.code).toBeNull();
      const done = await runCommand(["migrate"], environment);
      expect(done.code).toBe(0);
      expect((done.result as { applied: string[] }).applied).toContain("0001-platform");
      expect((await runCommand(["migrate"], environment)).result).toEqual({ applied: [] });
    } finally {
      await cleanUp();
    }
  });
});

test("every registered point is on the way of a run or named elsewhere", () => {
  expect([...Object.keys(ON_THE_WAY), ...Object.keys(ELSEWHERE)].sort()).toEqual([...FAULT_POINTS].sort());
});
