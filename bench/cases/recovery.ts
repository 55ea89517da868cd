/**
 * How long runs wait when a process they need dies: from the SIGKILL of their worker until another worker has claimed
 * them, with the default lease; and from a database crash to the first run that returns.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "@promptd/client";
import {
  openInstallationFixture,
  type InstallationFixture,
} from "../../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { onDatabase } from "../harness/on-database.ts";
import { spreadOf } from "../harness/spread.ts";
import { percentile } from "../search/measures.ts";

/** The default of PROMPTD_LEASE_MS. */
const LEASE_MS = 6_000;
const POLL_MS = 10;
/** Longer than a round, so that no run ends by itself. */
const LONG_RUN = "sandbox: delay=120000";

export const recovery = defineCase({
  sizes: { kills: [10, 1], runs: [20, 5], crashes: [5, 1] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes)),
});

async function measure(server: ChaosDatabase, sizes: Bench<"kills" | "runs" | "crashes">["sizes"]) {
  const fixture = await openInstallationFixture(server.url, { PROMPTD_LEASE_MS: String(LEASE_MS) });
  const api = await fixture.start("api");
  const client = (await fixture.createCaller()).clientAt(api.url);
  const reclaimMs: number[] = [];
  let worker = await fixture.start("worker");
  for (let kill = 0; kill < sizes.kills; kill += 1) {
    const runIds = await startRuns(fixture, client, sizes.runs);
    const other = await fixture.start("worker");
    const killedMs = performance.now();
    await worker.kill();
    const round = await untilClaimedAgain(fixture, runIds, killedMs);
    reclaimMs.push(...round);
    console.error(`kill ${kill + 1}: claimed again after ${Math.round(percentile(round, 0.5))} ms`);
    await Promise.all(runIds.map((runId) => client.runs.cancel(runId)));
    worker = other;
  }
  const crashMs: number[] = [];
  for (let crash = 0; crash < sizes.crashes; crash += 1) {
    const crashedMs = performance.now();
    await server.crash();
    await untilRun(fixture, client);
    crashMs.push(performance.now() - crashedMs);
    console.error(`crash ${crash + 1}: answered after ${Math.round(crashMs.at(-1) ?? 0)} ms`);
  }
  await Promise.all([api.stop(), worker.stop()]);
  await fixture.close();
  return {
    leaseMs: LEASE_MS,
    reclaimMs: { ...spreadOf(reclaimMs), p99: Math.round(percentile(reclaimMs, 0.99)) },
    crashMs: spreadOf(crashMs),
  };
}

/** Runs that the only worker has claimed. */
async function startRuns(fixture: InstallationFixture, client: Client, count: number): Promise<string[]> {
  const body = { promptVersionId: fixture.prompts.free, inputs: { textInputs: { ask: LONG_RUN } } };
  const created = await Promise.all(
    Array.from({ length: count }, () => client.runs.create(body, { respondAsync: true })),
  );
  const runIds = created.map(({ runId }) => runId);
  while ((await attemptsOf(fixture, runIds)).filter((attempt) => attempt === 1).length < count) await wait(POLL_MS);
  return runIds;
}

async function attemptsOf({ db }: InstallationFixture, runIds: readonly string[]): Promise<number[]> {
  const text = "select attempt from runs where id = any($1::uuid[]) and status = 'running'";
  return (await db.query<{ attempt: number }>(text, [runIds])).map(({ attempt }) => attempt);
}

/** Milliseconds from `sinceMs`, of each run. */
async function untilClaimedAgain(fixture: InstallationFixture, runIds: readonly string[], sinceMs: number) {
  const times: number[] = [];
  while (times.length < runIds.length) {
    const claimed = (await attemptsOf(fixture, runIds)).filter((attempt) => attempt > 1).length;
    while (times.length < claimed) times.push(performance.now() - sinceMs);
    await wait(POLL_MS);
  }
  return times;
}

async function untilRun(fixture: InstallationFixture, client: Client): Promise<void> {
  const body = { promptVersionId: fixture.prompts.free, inputs: { textInputs: { ask: "What is a tea house?" } } };
  for (;;) {
    const run = await client.runs.create(body).catch(() => null);
    if (run?.runStatus === "succeeded") return;
    await wait(POLL_MS);
  }
}
