/**
 * Create to answer over HTTP, with a model that answers at once and everything on: one caller, 64 callers of one account,
 * and 64 callers of 50 accounts, in turn. Rates, waits, and processor time of promptd and its database for each run.
 *
 *   node --conditions=promptd-source bench/create-run.ts [--rounds 5] [--runs 3000] [--database embedded|postgres]
 *
 * Prints one JSON line and writes it to bench/results/: medians over the rounds. `hotAccount` is the rate of one account
 * beside that of 50; the goal is 0.8 at least.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Client } from "@promptd/client";
import {
  openInstallationFixture,
  type InstallationFixture,
} from "../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "./chaos/database-server.ts";
import { describeMeasurement } from "./commit.ts";
import { measureOnDatabase } from "./measure-on-database.ts";
import { percentile } from "./search/measures.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    runs: { type: "string", default: "3000" },
    database: { type: "string", default: "embedded" },
    out: { type: "string", default: join(import.meta.dirname, "results", "create-run.json") },
  },
});

interface Case {
  readonly name: "one" | "hot" | "many";
  readonly callers: number;
  readonly accounts: number;
  /** A caller alone is slow, and its waits are even. */
  readonly share: number;
}

const CASES: readonly Case[] = [
  { name: "one", callers: 1, accounts: 1, share: 0.1 },
  { name: "hot", callers: 64, accounts: 1, share: 1 },
  { name: "many", callers: 64, accounts: 50, share: 1 },
];
const WARM_UP_RUNS = 500;
/** Of /proc: hundredths of a second. */
const TICK_MS = 10;

interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Processor time for each run. */
  readonly promptdMs: number;
  readonly databaseMs: number;
}

await measureOnDatabase(values.database === "postgres" ? "postgres" : "embedded", values.out, measure);

async function measure({ url, version }: ChaosDatabase) {
  const fixture = await openInstallationFixture(url, { PROMPTD_LEASE_MS: "15000" });
  const server = await fixture.start();
  const postmaster = await findPostmaster(fixture);
  const accounts = Math.max(...CASES.map((one) => one.accounts));
  const clients: Client[] = [];
  for (let i = 0; i < accounts; i += 1) clients.push((await fixture.createCaller()).clientAt(server.url));
  const run = (client: Client) =>
    client.runs.create({
      promptVersionId: fixture.prompts.free,
      inputs: { textInputs: { ask: "What is a tea house?" } },
    });
  const round = async ({ callers, accounts: among, share }: Case): Promise<Round> => {
    const runs = Math.round(Number(values.runs) * share);
    const before = [ticksOf(server.pid), ticksOfTree(postmaster)] as const;
    const startedMs = performance.now();
    const waits = await createRuns(run, clients.slice(0, among), { runs, callers });
    const seconds = (performance.now() - startedMs) / 1_000;
    const forEach = (ticks: number) => (ticks * TICK_MS) / runs;
    return {
      perSecond: runs / seconds,
      p50Ms: percentile(waits, 0.5),
      p95Ms: percentile(waits, 0.95),
      promptdMs: forEach(ticksOf(server.pid) - before[0]),
      databaseMs: forEach(ticksOfTree(postmaster) - before[1]),
    };
  };
  await createRuns(run, clients, { runs: WARM_UP_RUNS, callers: 8 });
  const rounds: Record<Case["name"], Round[]> = { one: [], hot: [], many: [] };
  for (let i = 0; i < Number(values.rounds); i += 1)
    for (const one of [...CASES.slice(i % CASES.length), ...CASES.slice(0, i % CASES.length)]) {
      rounds[one.name].push(await round(one));
      console.error(one.name, JSON.stringify(rounds[one.name].at(-1)));
    }
  await server.stop();
  await fixture.close();
  const results = Object.fromEntries(CASES.map(({ name }) => [name, medians(rounds[name])]));
  const hotAccount = percentile(
    rounds.hot.map((hot, i) => hot.perSecond / (rounds.many[i]?.perSecond ?? NaN)),
    0.5,
  );
  return {
    rounds: Number(values.rounds),
    runs: Number(values.runs),
    ...results,
    hotAccount,
    database: version,
    ...describeMeasurement(),
  };
}

async function createRuns(
  run: (client: Client) => Promise<unknown>,
  clients: readonly Client[],
  { runs, callers }: { readonly runs: number; readonly callers: number },
): Promise<number[]> {
  const waits: number[] = [];
  let sent = 0;
  const call = async (): Promise<void> => {
    while (sent < runs) {
      const client = clients[sent % clients.length];
      if (client === undefined) throw new Error("There are no callers.");
      sent += 1;
      const startedMs = performance.now();
      await run(client);
      waits.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return waits;
}

function medians(rounds: readonly Round[]): Round {
  const median = (key: keyof Round) =>
    Math.round(
      percentile(
        rounds.map((round) => round[key]),
        0.5,
      ) * 100,
    ) / 100;
  return {
    perSecond: median("perSecond"),
    p50Ms: median("p50Ms"),
    p95Ms: median("p95Ms"),
    promptdMs: median("promptdMs"),
    databaseMs: median("databaseMs"),
  };
}

async function findPostmaster({ db }: InstallationFixture): Promise<number> {
  const [row] = await db.query<{ pid: number }>("select pg_backend_pid() as pid");
  return readStat(row?.pid ?? 0)?.parent ?? 0;
}

/** Its own time and that of its children, those that have ended included. */
function ticksOfTree(pid: number): number {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readStat(Number(name)))
    .filter((stat) => stat?.parent === pid);
  const own = readStat(pid);
  return children.reduce((sum, child) => sum + (child?.ticks ?? 0), (own?.ticks ?? 0) + (own?.endedTicks ?? 0));
}

function ticksOf(pid: number): number {
  return readStat(pid)?.ticks ?? 0;
}

/** Null: it has ended. */
function readStat(pid: number): { parent: number; ticks: number; endedTicks: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // a name may hold spaces
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map((i) =>
      Number(fields[i]),
    );
    return { parent, ticks: user + system, endedTicks: endedUser + endedSystem };
  } catch {
    return null;
  }
}
