/**
 * The fault points on a run's path, runs that pass them, and the actions that the tests of faults-points-*.test.ts
 * share. Whatever happens at a point, the same Idempotency-Key leads to one run that ends, is charged once, and leaves
 * no hold. With PROMPTD_TEST_FAULTS=all every point meets every action; without it every point meets `kill`, and one
 * point each of the other actions.
 */
import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import type { CreateRunBody, Run } from "@promptd/contract";
import { PromptdConnectionError, PromptdError } from "@promptd/client";
import type { FaultPoint } from "../../src/platform/fault-injection.ts";
import type { InstallationCaller, InstallationFixture } from "../support/installation-fixture.ts";
import { until, type PromptdProcess } from "../support/promptd-process.ts";

export interface Way {
  readonly prompt: keyof InstallationFixture["prompts"];
  readonly ask: string;
}
const QUICK: Way = { prompt: "paid", ask: "hello" };
const SLOW: Way = { prompt: "paid", ask: "sandbox: delay=4000\nslow" };
/**
 * Long enough to be in progress when its process is asked to stop, but not longer: a busy machine loses a lease of 600
 * ms.
 */
const BRIEF: Way = { prompt: "paid", ask: "sandbox: delay=2000\nslow" };

/** The points that a run or its caller passes, and a run that passes them. */
export const ON_THE_WAY: Partial<Record<FaultPoint, Way>> = {
  "create.blob_stored": { prompt: "photo", ask: "a photo" },
  "create.before_commit": QUICK,
  "create.claimed": QUICK,
  "create.after_commit": QUICK,
  "create.before_reply": QUICK,
  "wait.registered": QUICK,
  "wait.before_reply": QUICK,
  "drain.started": BRIEF,
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
  "notify.send": { prompt: "photo", ask: "a photo" }, // others are notified of it, so it is not claimed at creation
  "heartbeat.before": SLOW,
  "sweep.before_commit": SLOW,
};

/**
 * A worker passes these, or may pass them, before it is ready, so they are tested with a worker that starts when the
 * run exists.
 */
const AT_START: readonly FaultPoint[] = [
  "claim.before_commit",
  "claim.after_commit",
  "heartbeat.before",
  "sweep.before_commit",
];

const isFull = process.env["PROMPTD_TEST_FAULTS"] === "all";

/** The named points with their runs, or all of them in the full form or without names. */
export function pointsInService(names?: readonly FaultPoint[]): [FaultPoint, Way][] {
  return pointsOnTheWay(names).filter(([point]) => !AT_START.includes(point));
}

/** Points that a worker may meet during its start. */
export function pointsAtStart(names?: readonly FaultPoint[]): [FaultPoint, Way][] {
  return pointsOnTheWay(names).filter(([point]) => AT_START.includes(point));
}

function pointsOnTheWay(names?: readonly FaultPoint[]): [FaultPoint, Way][] {
  const points = Object.entries(ON_THE_WAY) as [FaultPoint, Way][];
  return points.filter(([point]) => isFull || (names?.includes(point) ?? true));
}

/** All of them in the full form, otherwise the named ones. */
export function chosen<Point extends string>(all: readonly Point[], names: readonly Point[]): readonly Point[] {
  return isFull ? all : names;
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export function bodyOf(fixture: InstallationFixture, way: Way): CreateRunBody {
  const imageInputs = way.prompt === "photo" ? [{ type: "base64" as const, base64: PIXEL }] : [];
  return { promptVersionId: fixture.prompts[way.prompt], inputs: { textInputs: { ask: way.ask }, imageInputs } };
}

/** Acts like a caller that does not give up: it repeats the same key until it gets a response about the run. */
export async function createUntilAnswered(caller: InstallationCaller, url: string, body: CreateRunBody): Promise<Run> {
  for (;;) {
    try {
      return await caller.clientAt(url).runs.createAndWait(body, { idempotencyKey: "the-key" });
    } catch (error) {
      if (!(error instanceof PromptdError) || error.httpStatus !== 500) throw error;
    }
  }
}

/** A caller who waits for the run at an API process while no worker runs it yet. */
export async function createWithoutWorker(fixture: InstallationFixture, way: Way) {
  const caller = await fixture.createCaller();
  const api = await fixture.start("api");
  const response = caller.clientAt(api.url).runs.createAndWait(bodyOf(fixture, way), { idempotencyKey: "the-key" });
  response.catch(() => {}); // handled where it is awaited
  await until(async () => (await fixture.db.query("select 1 from runs")).length === 1);
  return { api, response };
}

/** A process in which something happens at a point, and the first attempt of a caller who leads a run there. */
export interface Encounter {
  readonly doomed: PromptdProcess;
  /** Resolves whatever the outcome: a response, an error, or no connection. */
  readonly first: Promise<unknown>;
  /** The same caller does not give up: it repeats the same key until it gets a response about the run. */
  readonly createUntilAnswered: (url: string) => Promise<Run>;
}

export async function meetPoint(
  fixture: InstallationFixture,
  action: string,
  [point, way]: readonly [FaultPoint, Way],
): Promise<Encounter> {
  const caller = await fixture.createCaller();
  const body = bodyOf(fixture, way);
  const doomed = await fixture.start("all", { PROMPTD_FAULT: `${point}:${action}@1`, PROMPTD_DRAIN_SECONDS: "30" });
  const first = caller
    .clientAt(doomed.url)
    .runs.create(body, { idempotencyKey: "the-key" })
    .catch((error: unknown) => error);
  if (point === "drain.started") {
    await until(async () => (await fixture.db.query("select 1 from runs where worker is not null")).length === 1);
    doomed.signal("SIGTERM");
  }
  return { doomed, first, createUntilAnswered: (url) => createUntilAnswered(caller, url, body) };
}

/** Null: the connection was lost. */
export function statusOf(response: unknown): number | null | undefined {
  if (response instanceof PromptdConnectionError) return null;
  return response instanceof PromptdError ? response.httpStatus : undefined;
}

export async function expectOneSoundRun(fixture: InstallationFixture): Promise<void> {
  expect(await fixture.db.query("select status, attempt <= 3 as few from runs")).toEqual([
    { status: "succeeded", few: true },
  ]);
  expect(await fixture.findFaults()).toEqual([]);
}

/**
 * The driver's own warning: a process that closes its connections itself does not log it, so a missed cut is noticed.
 */
const LOST = /database connection was lost|Connection terminated/;

export function expectConnectionsLost(log: readonly string[]): void {
  expect(log.filter((line) => LOST.test(line))).not.toEqual([]);
}

export function untilConnectionsLost({ log }: PromptdProcess): Promise<void> {
  return until(() => log.some((line) => LOST.test(line)));
}

export async function isFrozen(pid: number): Promise<boolean> {
  return /\) T /.test(await readFile(`/proc/${pid}/stat`, "utf8"));
}
