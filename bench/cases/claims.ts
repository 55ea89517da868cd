/**
 * The cost of claiming ten runs, with queues and histories of different lengths: the 8 kB pages that the database reads,
 * which are the same on any machine, and the time. Each claim is rolled back, so all of them see the same queue.
 */
import {
  openInstallationFixture,
  type InstallationFixture,
} from "../../packages/server/test/support/installation-fixture.ts";
import type { Queryable } from "../../packages/server/src/platform/database/database.ts";
import { CIRCLE_START, claimRuns } from "../../packages/server/src/runs/work/claim.ts";
import { registerWorker } from "../../packages/server/src/runs/work/lease.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { onDatabase } from "../harness/on-database.ts";
import { pagesReadBy } from "../harness/pages-read-by.ts";
import { addEndedRuns, openLoader, queueRuns, type RunsAtOnce } from "../harness/runs-at-once.ts";
import { spreadOf } from "../harness/spread.ts";

const ACCOUNTS = 50;
const CLAIMED = 10;
/** A claim considers this many runs per account. With fewer, it would have less to choose from. */
const QUEUED_LEAST = ACCOUNTS * CLAIMED;
const ENDED_LEAST = 1_000;
const TIMES = 50;
const HOUR_MS = 3_600_000;

export const claims = defineCase({
  sizes: { queued: [100_000, 10_000], ended: [1_000_000, 10_000] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes)),
});

async function measure(server: ChaosDatabase, { queued, ended }: Bench<"queued" | "ended">["sizes"]) {
  const fixture = await openInstallationFixture(server.url);
  const loader = await openLoader(server.url);
  const runs = await runsOf(fixture);
  const workerId = crypto.randomUUID();
  await registerWorker(fixture.db, workerId, "bench");
  const results = [];
  let had = { queued: 0, ended: 0 };
  for (const want of [
    { queued: QUEUED_LEAST, ended: ENDED_LEAST },
    { queued: queued / 10, ended: ENDED_LEAST },
    { queued, ended: ENDED_LEAST },
    { queued, ended: ended / 10 },
    { queued, ended },
  ]) {
    await addEndedRuns(loader, { ...runs, count: want.ended - had.ended });
    await queueRuns(loader, { ...runs, count: want.queued - had.queued });
    await loader.query("vacuum analyze runs");
    had = want;
    const cost = await measureClaims(loader, workerId);
    console.error(`${want.queued} waiting, ${want.ended} ended: ${cost.pages} pages, ${cost.ms.median} ms`);
    results.push({ ...want, ...cost });
  }
  await loader.close();
  await fixture.close();
  const pages = results.map((one) => one.pages);
  return { results, mostToLeast: Math.max(...pages) / Math.min(...pages) };
}

async function runsOf(fixture: InstallationFixture): Promise<Omit<RunsAtOnce, "count">> {
  const callers = await Promise.all(Array.from({ length: ACCOUNTS }, () => fixture.createCaller()));
  const accountIds = callers.map(({ accountId }) => accountId);
  return { accountIds, promptVersionId: fixture.prompts.free, ask: "What is a tea house?" };
}

async function measureClaims(db: Queryable, workerId: string) {
  const claim = (on: Queryable) =>
    claimRuns(on, { workerId, leaseMs: HOUR_MS }, { runsMax: CLAIMED, after: CIRCLE_START });
  const times: number[] = [];
  for (let i = 0; i < TIMES; i += 1)
    await inVain(db, async () => {
      const startedMs = performance.now();
      const { runs } = await claim(db);
      times.push(performance.now() - startedMs);
      if (runs.length !== CLAIMED) throw new Error(`A claim of ${CLAIMED} runs got ${runs.length}.`);
    });
  return { pages: await inVain(db, () => pagesReadBy(db, claim)), ms: spreadOf(times) };
}

async function inVain<Result>(db: Queryable, work: () => Promise<Result>): Promise<Result> {
  await db.query("begin");
  try {
    return await work();
  } finally {
    await db.query("rollback");
  }
}
