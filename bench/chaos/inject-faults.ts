/** The schedule of a chaos run: the seed decides who is hit by what and how long to wait until the next. */
import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../packages/server/src/platform/database.ts";
import type { TcpProxy } from "../../packages/server/test/tcp-proxy.ts";
import type { ChaosDatabase } from "./database-server.ts";
import type { Fleet, Member } from "./fleet.ts";
import type { SeededRandom } from "./random.ts";
import type { Kill, Outage } from "./trace.ts";

export interface Injected {
  kills: { api: number; worker: number };
  stops: number;
  terms: number;
  backendTerminations: number;
  databaseCrashes: number;
  connectionCuts: number;
  readonly killTimes: Kill[];
  readonly outages: Outage[];
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

/** Each step takes the same four numbers, so that a seed's schedule does not depend on what the processes do. */
interface Step {
  readonly gapMs: number;
  /** Where in the list of those that may be hit, 0 to 1. */
  readonly victim: number;
  readonly kind: number;
  /** Of a freeze: its length; of a cut: which of the two. */
  readonly extent: number;
}

const GAP_MS = { min: 20, max: 320 };
const BACK_LOOK_MS = 20;
const STOP_MS = { min: 200, max: 4_000 };

function planStep(random: SeededRandom): Step {
  return {
    gapMs: GAP_MS.min + random() * (GAP_MS.max - GAP_MS.min),
    victim: random(),
    kind: random(),
    extent: random(),
  };
}

export async function injectFaults(setup: InjectionSetup): Promise<Injected> {
  const counts: Injected = {
    kills: { api: 0, worker: 0 },
    stops: 0,
    terms: 0,
    backendTerminations: 0,
    databaseCrashes: 0,
    connectionCuts: 0,
    killTimes: [],
    outages: [],
  };
  const resumed: Promise<void>[] = [];
  const endMs = performance.now() + setup.msMax;
  while (counts.killTimes.length < setup.killsWanted && performance.now() < endMs) {
    const step = planStep(setup.random);
    await wait(step.gapMs);
    const victims = setup.fleet.expendable();
    const victim = victims[Math.floor(step.victim * victims.length)];
    if (victim === undefined) continue;
    const before = counts.killTimes.length;
    if (step.kind < 0.015) resumed.push(crashDatabase(setup, counts));
    else if (step.kind < 0.1) await terminateBackend(setup, counts);
    else if (step.kind < 0.15) cut(setup, step, counts);
    else if (step.kind < 0.23) resumed.push(stopForAWhile(victim, step, counts));
    else if (step.kind < 0.29) terminate(victim, counts);
    else kill(victim, counts);
    const killed = counts.killTimes.length;
    if (killed > before && killed % 50 === 0) console.error(`chaos: ${killed} kills`);
  }
  await Promise.all(resumed);
  return counts;
}

function kill(victim: Member, counts: Injected): void {
  victim.doom = "at once";
  counts.kills[victim.role] += 1;
  counts.killTimes.push({ pid: victim.process.pid, atMs: Date.now() });
  void victim.process.kill();
}

function terminate(victim: Member, counts: Injected): void {
  victim.doom = victim.doom === null ? "drain" : "at once"; // a second signal does not wait for the drain
  counts.terms += 1;
  victim.process.signal("SIGTERM");
}

async function stopForAWhile(victim: Member, { extent }: Step, counts: Injected): Promise<void> {
  counts.stops += 1;
  victim.isStopped = true;
  victim.process.signal("SIGSTOP");
  await wait(STOP_MS.min + extent * (STOP_MS.max - STOP_MS.min));
  victim.process.signal("SIGCONT");
  victim.isStopped = false;
}

/** Not waited for: the injections go on while the database is away. */
async function crashDatabase({ server, db }: InjectionSetup, counts: Injected): Promise<void> {
  const last = counts.outages.at(-1);
  if (last !== undefined && last.toMs === Infinity) return; // it is down already
  counts.databaseCrashes += 1;
  const outage = { fromMs: Date.now(), toMs: Infinity };
  counts.outages.push(outage);
  await server.crash();
  while ((await db.query("select 1").catch(() => null)) === null) await wait(BACK_LOOK_MS);
  outage.toMs = Date.now();
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

function cut({ proxy }: InjectionSetup, { extent }: Step, counts: Injected): void {
  counts.connectionCuts += 1;
  if (extent < 0.5) proxy.cut();
  else proxy.cutOnAnswer();
}
