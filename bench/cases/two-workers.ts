/** Runs with a slow model, executed by one worker process and by two in turn, from a queue that is full at the start. */
import {
  openInstallationFixture,
  type InstallationFixture,
} from "../../packages/server/test/support/installation-fixture.ts";
import { until } from "../../packages/server/test/support/promptd-process.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { rotate } from "../harness/load.ts";
import { onDatabase } from "../harness/on-database.ts";
import { openLoader, queueRuns, type RunsAtOnce } from "../harness/runs-at-once.ts";
import { spreadOf } from "../harness/spread.ts";

const ACCOUNTS = 50;
const WARM_UP_RUNS = 200;
const ROUND_MS_MAX = 120_000;

export const twoWorkers = defineCase({
  sizes: { rounds: [5, 1], runs: [2_000, 200], modelMs: [200, 200] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes)),
});

async function measure(server: ChaosDatabase, sizes: Bench<"rounds" | "runs" | "modelMs">["sizes"]) {
  const fixture = await openInstallationFixture(server.url);
  const callers = await Promise.all(Array.from({ length: ACCOUNTS }, () => fixture.createCaller()));
  const runs = {
    count: sizes.runs,
    accountIds: callers.map(({ accountId }) => accountId),
    promptVersionId: fixture.prompts.free,
    ask: `sandbox: delay=${sizes.modelMs}`,
  };
  const rounds: { one: number; two: number }[] = [];
  for (let i = 0; i < sizes.rounds; i += 1) {
    const round = { one: NaN, two: NaN };
    for (const kind of rotate(["one", "two"] as const, i))
      round[kind] = await runsPerSecond(server, fixture, { runs, workers: kind === "one" ? 1 : 2 });
    console.error(`round ${i + 1}: ${JSON.stringify(round)}`);
    rounds.push(round);
  }
  await fixture.close();
  return {
    perSecond: { one: spreadOf(rounds.map(({ one }) => one)), two: spreadOf(rounds.map(({ two }) => two)) },
    twoToOne: spreadOf(rounds.map(({ one, two }) => two / one)),
  };
}

interface Work {
  readonly runs: RunsAtOnce;
  readonly workers: 1 | 2;
}

/** The time from the start of the first run to the end of the last, by the database's clock. */
async function runsPerSecond(server: ChaosDatabase, fixture: InstallationFixture, { runs, workers }: Work) {
  const processes = await Promise.all(Array.from({ length: workers }, () => fixture.start("worker")));
  const loader = await openLoader(server.url);
  try {
    await queueAndNotify({ ...runs, count: WARM_UP_RUNS });
    return await queueAndNotify(runs);
  } finally {
    await loader.close();
    await Promise.all(processes.map((process) => process.stop()));
  }

  async function queueAndNotify(wanted: RunsAtOnce): Promise<number> {
    await loader.query("delete from runs");
    await loader.query("vacuum analyze runs");
    await queueRuns(loader, wanted);
    await loader.query("select pg_notify('run_ready', '')");
    const isDone = async () =>
      (await loader.query("select 1 from runs where finished_at is null limit 1")).length === 0;
    await until(isDone, ROUND_MS_MAX);
    const [row] = await loader.query<{ seconds: number; failed: number }>(
      `select extract(epoch from max(finished_at) - min(started_at))::float8 as seconds,
         count(*) filter (where status <> 'succeeded')::int as failed from runs`,
    );
    if (row === undefined || row.failed > 0) throw new Error(`${row?.failed} runs failed.`);
    return wanted.count / row.seconds;
  }
}
