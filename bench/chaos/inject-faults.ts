/** The schedule of a chaos run: the seed decides who is hit by what and how long to wait until the next. */
import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../packages/server/src/platform/database.ts";
import type { TcpProxy } from "../../packages/server/test/tcp-proxy.ts";
import type { ChaosDatabase } from "./database-server.ts";
import type { Fleet, Member } from "./fleet.ts";
import { pickOne, type SeededRandom } from "./random.ts";
import type { Kill } from "./trace.ts";

export interface Injected {
  kills: { api: number; worker: number };
  stops: number;
  terms: number;
  backendTerminations: number;
  databaseCrashes: number;
  connectionCuts: number;
  readonly killTimes: Kill[];
}

export interface InjectionSetup {
  readonly fleet: Fleet;
  readonly server: ChaosDatabase;
  readonly proxy: TcpProxy;
  readonly db: Database;
  readonly random: SeededRandom;
  readonly killsWanted: number;
  /** Ends the injections before all kills are done; a busy machine is slow to start what was killed. */
  readonly msMax: number;
}

const GAP_MS = { min: 20, max: 320 };
const STOP_MS = { min: 200, max: 4_000 };

export async function injectFaults(setup: InjectionSetup): Promise<Injected> {
  const { random, killsWanted } = setup;
  const counts: Injected = {
    kills: { api: 0, worker: 0 },
    stops: 0,
    terms: 0,
    backendTerminations: 0,
    databaseCrashes: 0,
    connectionCuts: 0,
    killTimes: [],
  };
  const resumed: Promise<void>[] = [];
  const endMs = performance.now() + setup.msMax;
  const killed = () => counts.kills.api + counts.kills.worker;
  while (killed() < killsWanted && performance.now() < endMs) {
    await wait(GAP_MS.min + random() * (GAP_MS.max - GAP_MS.min));
    const victim = pickOne(setup.fleet.expendable(), random);
    if (victim === undefined) continue;
    const before = killed();
    const chance = random();
    if (chance < 0.015) await crashDatabase(setup, counts);
    else if (chance < 0.1) await terminateBackend(setup, counts);
    else if (chance < 0.15) cut(setup, counts);
    else hit(victim, chance, { setup, counts, resumed });
    if (killed() > before && killed() % 50 === 0) console.error(`chaos: ${killed()} kills`);
  }
  await Promise.all(resumed);
  return counts;
}

function hit(
  victim: Member,
  chance: number,
  { setup, counts, resumed }: { setup: InjectionSetup; counts: Injected; resumed: Promise<void>[] },
): void {
  if (chance < 0.23) {
    counts.stops += 1;
    resumed.push(stopForAWhile(victim, STOP_MS.min + setup.random() * (STOP_MS.max - STOP_MS.min)));
    return;
  }
  if (chance < 0.29) {
    counts.terms += 1;
    victim.process.signal("SIGTERM");
    return;
  }
  counts.kills[victim.role] += 1;
  counts.killTimes.push({ pid: victim.process.pid, atMs: Date.now() });
  void victim.process.kill();
}

async function stopForAWhile(victim: Member, ms: number): Promise<void> {
  victim.isStopped = true;
  victim.process.signal("SIGSTOP");
  await wait(ms);
  victim.process.signal("SIGCONT");
  victim.isStopped = false;
}

async function crashDatabase({ server }: InjectionSetup, counts: Injected): Promise<void> {
  counts.databaseCrashes += 1;
  await server.crash();
}

async function terminateBackend({ db }: InjectionSetup, counts: Injected): Promise<void> {
  const rows = await db
    .query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
         and application_name like 'promptd:%' and application_name !~ ':(chaos|test)' order by random() limit 1`,
    )
    .catch(() => []);
  counts.backendTerminations += rows.length;
}

function cut({ proxy, random }: InjectionSetup, counts: Injected): void {
  counts.connectionCuts += 1;
  if (random() < 0.5) proxy.cut();
  else proxy.cutOnAnswer();
}
