/**
 * Jobs through a queue without HTTP: 50 producers, one process, all on one database in rotated order. promptd's jobs are runs
 * with everything that belongs to one but the request; those of the peers do nothing.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { cpuMsOf, cpuMsOfTree, findPostmaster } from "../harness/cpu.ts";
import { rotate } from "../harness/load.ts";
import { onDatabase } from "../harness/on-database.ts";
import { peerFile, requirePeers, versionOf } from "../harness/peers.ts";
import type { QueueOrder, QueueRound } from "../harness/queue-rounds.ts";
import { spreadOf, spreadOfEach } from "../harness/spread.ts";

const ACCOUNTS = 50;
const WARM_UP_JOBS = 200;

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
  const queues = [promptd, ...(hasPeers ? peers(server.url) : [])];
  const postmaster = await findPostmaster(fixture.db);
  const children = await Promise.all(queues.map(startQueue));
  const started = queues.map(({ name }, i) => ({ name, child: children[i] as ChildProcess, rounds: [] as Round[] }));
  for (const { child } of started) await order(child, { jobs: WARM_UP_JOBS, producers: sizes.producers });
  for (let i = 0; i < sizes.rounds; i += 1)
    for (const { name, child, rounds } of rotate(started, i)) {
      const round = await measureRound(child, postmaster, sizes);
      rounds.push(round);
      console.error(`round ${i + 1}: ${name} ${JSON.stringify(round)}`);
    }
  for (const child of children) child.disconnect();
  await fixture.close();
  const own = started[0]?.rounds ?? [];
  return {
    queues: started.map(({ name, rounds }, i) => ({ name, version: queues[i]?.version, ...spreadOfEach(rounds) })),
    besidePeers: started.slice(1).map(({ name, rounds }) => ({
      name,
      rate: spreadOf(own.map(({ perSecond }, i) => perSecond / (rounds[i]?.perSecond ?? NaN))),
    })),
  };
}

function peers(url: string): Queue[] {
  requirePeers();
  const environment = { DATABASE_URL: url, PATH: process.env["PATH"] ?? "" };
  const boss = { name: "pg-boss", version: versionOf("pg-boss"), file: peerFile("pg-boss.js"), environment };
  const graphile = {
    name: "graphile-worker",
    version: versionOf("graphile-worker"),
    file: peerFile("graphile-worker.js"),
    environment,
  };
  const inBatches = {
    ...graphile,
    name: "graphile-worker, batches",
    environment: { ...environment, BENCH_BATCHES: "on" },
  };
  return [boss, graphile, inBatches];
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

async function order(child: ChildProcess, what: QueueOrder): Promise<QueueRound> {
  child.send(what);
  const [round] = (await Promise.race([once(child, "message"), failureOf(child, "a queue")])) as [QueueRound];
  return round;
}

async function failureOf(child: ChildProcess, name: string): Promise<never> {
  const [code] = (await once(child, "exit")) as [number | null];
  throw new Error(`${name} ended with ${code}.`);
}

/** Processor time for each job. */
async function measureRound(child: ChildProcess, postmaster: number, sizes: Sizes): Promise<Round> {
  const read = () => [cpuMsOf(child.pid ?? 0), cpuMsOfTree(postmaster)] as const;
  const before = read();
  const round = await order(child, { jobs: sizes.jobs, producers: sizes.producers });
  const after = read();
  return {
    ...round,
    processMs: (after[0] - before[0]) / sizes.jobs,
    databaseMs: (after[1] - before[1]) / sizes.jobs,
  };
}
