/**
 * A thousand followers of runs in one API process: the memory of each, whether it grows while they wait, and how fast a
 * run's end, written by another process, reaches its follower.
 */
import { setTimeout as wait } from "node:timers/promises";
import { createClient } from "@promptd/client";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { residentMib } from "../harness/cpu.ts";
import { onDatabase } from "../harness/on-database.ts";
import { percentile } from "../search/measures.ts";

/** By then, the garbage from their arrival is collected. */
const SETTLE_MS = 15_000;

export const followers = defineCase({
  sizes: { followers: [1_000, 50], holdSeconds: [60, 1], wakes: [200, 10] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes)),
});

async function measure(server: ChaosDatabase, sizes: Bench<"followers" | "holdSeconds" | "wakes">["sizes"]) {
  const fixture = await openInstallationFixture(server.url, { PROMPTD_ACTIVE_RUNS_MAX: "100000" });
  const caller = await fixture.createCaller();
  // No worker: runs end when another process cancels them.
  const [api, other] = await Promise.all([fixture.start("api"), fixture.start("api")]);
  const client = createClient({ baseUrl: api.url, apiKey: caller.apiKey, maxRetries: 100 });
  const canceling = createClient({ baseUrl: other.url, apiKey: caller.apiKey, maxRetries: 100 });
  const body = { promptVersionId: fixture.prompts.free, inputs: { textInputs: { ask: "x" } } };
  const runIds: string[] = [];
  while (runIds.length < sizes.followers) {
    const created = await Promise.all(
      Array.from({ length: Math.min(20, sizes.followers - runIds.length) }, () =>
        client.runs.create(body, { respondAsync: true, stream: true }),
      ),
    );
    runIds.push(...created.map(({ runId }) => runId));
  }
  await wait(SETTLE_MS);
  const before = rssOf(api.pid);
  const ended = new Map<string, number>();
  const following = runIds.map(async (runId) => {
    for await (const { event } of client.runs.follow(runId)) if (event === "done") ended.set(runId, performance.now());
  });
  await wait(SETTLE_MS);
  const opened = rssOf(api.pid);
  await wait(sizes.holdSeconds * 1_000);
  const held = rssOf(api.pid);
  const wakeMs: number[] = [];
  for (const runId of runIds.slice(0, sizes.wakes)) {
    await canceling.runs.cancel(runId);
    const answeredMs = performance.now();
    while (!ended.has(runId)) await wait(1);
    wakeMs.push(Math.max(0, (ended.get(runId) ?? 0) - answeredMs));
  }
  await Promise.all(runIds.map((runId) => client.runs.cancel(runId)));
  await Promise.all(following);
  await Promise.all([api.stop(), other.stop()]);
  await fixture.close();
  return {
    followers: sizes.followers,
    rssMiB: { before: mib(before), opened: mib(opened), held: mib(held) },
    bytesPerFollower: Math.round((opened - before) / sizes.followers),
    heldSeconds: sizes.holdSeconds,
    wakeMs: { p50: round(percentile(wakeMs, 0.5)), p99: round(percentile(wakeMs, 0.99)) },
  };
}

function rssOf(pid: number): number {
  return residentMib(pid) * 2 ** 20;
}

function mib(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
