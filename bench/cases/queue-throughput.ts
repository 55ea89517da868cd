/**
 * Jobs through a queue without HTTP: 50 producers, one process, all on one database in rotated order. promptd's jobs are
 * complete runs, except for the HTTP request. The peers' jobs do nothing.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { orAborted, withDeadline } from "../../packages/server/src/platform/resilience/deadline.ts";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { cpuMsOf, cpuMsOfTree, findPostmaster } from "../harness/cpu.ts";
import { rotate } from "../harness/load.ts";
import { createDatabaseOn, onDatabase } from "../harness/on-database.ts";
import { peerFile, requirePeers, versionOf } from "../harness/peers.ts";
import type { QueueOrder, QueueRound } from "../harness/queue-rounds.ts";
import { spreadOf, spreadOfEach } from "../harness/spread.ts";

const ACCOUNTS = 50;
const WARM_UP_JOBS = 200;
const ROUND_MS_MAX = 120_000;

export const queueThroughput = defineCase({
  sizes: { rounds: [5, 1], jobs: [3_000, 300], producers: [50, 50] },
  comparesPeers: true,
  measure: ({ database, sizes, hasPeers }) => onDatabase(database, (server) => measure(server, sizes, hasPeers)),
});

interface Queue {
  readonly name: string;
  readonly version: string | null;
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
}

type Round = QueueRound & { readonly processMs: number; readonly databaseMs: number };
type Sizes = Bench<"rounds" | "jobs" | "producers">["sizes"];

async function measure(server: ChaosDatabase, sizes: Sizes, hasPeers: boolean) {
  const fixture = await openInstallationFixture(server.url, { PROMPTD_LEASE_MS: "6000" });
  const accounts: string[] = [];
  for (let i = 0; i < ACCOUNTS; i += 1) accounts.push((await fixture.createCaller(1_000_000_000)).accountId);
  const promptd = {
    name: "promptd",
    version: null,
    file: join(import.meta.dirname, "../harness/queue-promptd.ts"),
    environment: {
      ...fixture.environment,
      PROMPTD_SANDBOX: "on",
      BENCH_ACCOUNTS: accounts.join(","),
      BENCH_PROMPT: fixture.prompts.paid,
    },
  };
  const queues = [promptd, ...(hasPeers ? await peers(server) : [])];
  const postmaster = await findPostmaster(fixture.db);
  const children = await Promise.all(queues.map(startQueue));
  const started: Started[] = queues.map(({ name }, i) => ({ name, child: children[i] as ChildProcess, rounds: [] }));
  try {
    await runRounds(started, postmaster, sizes);
  } finally {
    for (const child of children) child.disconnect();
    await fixture.close();
  }
  const own = started[0]?.rounds ?? [];
  return {
    queues: started.map(({ name, rounds }, i) => ({ name, version: queues[i]?.version, ...spreadOfEach(rounds) })),
    besidePeers: started.slice(1).map(({ name, rounds }) => ({
      name,
      rate: spreadOf(own.map(({ perSecond }, i) => perSecond / (rounds[i]?.perSecond ?? NaN))),
    })),
  };
}

async function runRounds(queues: readonly Started[], postmaster: number, sizes: Sizes): Promise<void> {
  for (const queue of queues) await order(queue, { jobs: WARM_UP_JOBS, producers: sizes.producers });
  for (let i = 0; i < sizes.rounds; i += 1)
    for (const queue of rotate(queues, i)) {
      const round = await measureRound(queue, postmaster, sizes);
      queue.rounds.push(round);
      console.error(`round ${i + 1}: ${queue.name} ${JSON.stringify(round)}`);
    }
}

/** Each in a separate database, because a graphile-worker worker stops when another schema is migrated. */
async function peers(server: ChaosDatabase): Promise<Queue[]> {
  requirePeers();
  const environment = { PATH: process.env["PATH"] ?? "" };
  const withOwn = async (database: string) => ({
    ...environment,
    DATABASE_URL: await createDatabaseOn(server, database),
  });
  const boss = { name: "pg-boss", version: versionOf("pg-boss"), file: peerFile("pg-boss.js") };
  const version = versionOf("graphile-worker");
  const graphile = { name: "graphile-worker", version, file: peerFile("graphile-worker.js") };
  return [
    { ...boss, environment: await withOwn("boss") },
    { ...graphile, environment: await withOwn("graphile") },
    {
      ...graphile,
      name: "graphile-worker, batches",
      environment: { ...(await withOwn("graphile_batches")), BENCH_BATCHES: "on" },
    },
  ];
}

async function startQueue({ name, file, environment }: Queue): Promise<ChildProcess> {
  const env = { ...environment, NODE_ENV: "production" };
  const child = fork(file, {
    env,
    execArgv: ["--conditions=promptd-source"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await Promise.race([once(child, "message"), failureOf(child, name)]);
  return child;
}

interface Started {
  readonly name: string;
  readonly child: ChildProcess;
  readonly rounds: Round[];
}

/** A queue that no longer accepts jobs must not block the others forever. */
async function order({ name, child }: Started, what: QueueOrder): Promise<QueueRound> {
  child.send(what);
  const answered = Promise.race([once(child, "message"), failureOf(child, name)]);
  const error = () => new Error(`${name} did not do ${what.jobs} jobs within ${ROUND_MS_MAX / 1_000} s.`);
  const [round] = (await withDeadline(ROUND_MS_MAX, (signal) => orAborted(answered, signal), { error })) as [
    QueueRound,
  ];
  return round;
}

async function failureOf(child: ChildProcess, name: string): Promise<never> {
  const [code] = (await once(child, "exit")) as [number | null];
  throw new Error(`${name} ended with ${code}.`);
}

/** Processor time per job. */
async function measureRound(queue: Started, postmaster: number, sizes: Sizes): Promise<Round> {
  const read = () => [cpuMsOf(queue.child.pid ?? 0), cpuMsOfTree(postmaster)] as const;
  const before = read();
  const round = await order(queue, { jobs: sizes.jobs, producers: sizes.producers });
  const after = read();
  return {
    ...round,
    processMs: (after[0] - before[0]) / sizes.jobs,
    databaseMs: (after[1] - before[1]) / sizes.jobs,
  };
}
