/**
 * Carries out the plan of a chaos run, step by step: a step waits for its victim, and a step that never found one is
 * reported.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../packages/server/src/platform/database/database.ts";
import type { TcpProxy } from "../../packages/server/test/support/tcp-proxy.ts";
import type { ChaosDatabase } from "./database-server.ts";
import type { Fleet, Member } from "./fleet.ts";
import { countKinds, describeStep, FAULT_KINDS, type FaultCounts, type Role, type Step } from "./plan-faults.ts";
import type { Kill, Outage } from "./trace.ts";

export interface Injected {
  readonly executed: FaultCounts;
  readonly kills: Readonly<Record<Role, number>>;
  readonly killTimes: readonly Kill[];
  readonly outages: readonly Outage[];
  /** Steps whose victim never came. */
  readonly missed: readonly string[];
}

export interface InjectionSetup {
  readonly fleet: Fleet;
  readonly server: ChaosDatabase;
  readonly proxy: TcpProxy;
  readonly db: Database;
  readonly plan: readonly Step[];
  /** Ends the injections before the plan is done; the run has then failed. */
  readonly msMax: number;
}

type StepOf<Kind extends Step["kind"]> = Extract<Step, { readonly kind: Kind }>;

interface Progress {
  readonly setup: InjectionSetup;
  /** The ends of freezes and outages, which the next steps do not wait for. */
  readonly resumed: Promise<void>[];
  readonly kills: Record<Role, number>;
  readonly killTimes: Kill[];
  readonly outages: { readonly fromMs: number; toMs: number }[];
}

const LOOK_MS = 20;
/** A seat is filled again within seconds, or within a minute on a starved machine. */
const STEP_MS_MAX = 120_000;
const KILLS_BETWEEN_REPORTS = 10;

export async function injectFaults(setup: InjectionSetup): Promise<Injected> {
  const progress: Progress = { setup, resumed: [], kills: { api: 0, worker: 0 }, killTimes: [], outages: [] };
  const endMs = performance.now() + setup.msMax;
  const done: Step[] = [];
  const missed: string[] = [];
  for (const step of setup.plan) {
    if (performance.now() >= endMs) break;
    if (await carryOut(step, progress, Math.min(endMs, performance.now() + STEP_MS_MAX))) done.push(step);
    else if (performance.now() < endMs) missed.push(describeStep(step));
    const killed = progress.killTimes.length;
    if (step.kind === "kill" && killed % KILLS_BETWEEN_REPORTS === 0) console.error(`chaos: ${killed} kills`);
  }
  await Promise.all(progress.resumed);
  const { kills, killTimes, outages } = progress;
  return { executed: countKinds(done), kills, killTimes, outages, missed };
}

/**
 * Unfinished parts of the plan, as broken guarantees of the run itself: a run that did less than planned proves less.
 */
export function findShortfall(planned: FaultCounts, { executed, missed }: Pick<Injected, "executed" | "missed">) {
  const short = FAULT_KINDS.filter((kind) => executed[kind] < planned[kind]);
  return [
    ...short.map((kind) => `less than planned: ${executed[kind]} of ${planned[kind]} times ${kind}`),
    ...missed.map((step) => `no victim for ${step}`),
  ];
}

/** @returns false if there was nothing to hit until `endMs`. */
async function carryOut(step: Step, progress: Progress, endMs: number): Promise<boolean> {
  do {
    if (!isPresent(step, progress)) {
      await wait(LOOK_MS);
      continue;
    }
    await wait(step.gapMs); // gives a victim that was waited for some work first
    if (await tryStep(step, progress)) return true;
  } while (performance.now() < endMs);
  return false;
}

function isPresent(step: Step, { setup }: Progress): boolean {
  return !("seat" in step) || step.kind === "backend" || setup.fleet.victimIn(step.seat) !== null;
}

/** @returns false: not now. */
async function tryStep(step: Step, progress: Progress): Promise<boolean> {
  if (step.kind === "crash") return crashDatabase(progress);
  if (step.kind === "cut") return cut(progress.setup, step);
  if (step.kind === "backend") return terminateBackend(progress.setup, step);
  const victim = progress.setup.fleet.victimIn(step.seat);
  if (victim === null) return false;
  if (step.kind === "freeze") progress.resumed.push(freeze(victim, step));
  else if (step.kind === "term") terminate(victim);
  else kill(victim, progress);
  return true;
}

function kill(victim: Member, progress: Progress): void {
  victim.doom = "at once";
  progress.kills[victim.role] += 1;
  progress.killTimes.push({ pid: victim.process.pid, atMs: Date.now() });
  void victim.process.kill();
}

function terminate(victim: Member): void {
  victim.doom = victim.doom === null ? "drain" : "at once"; // a second signal does not wait for the drain
  victim.process.signal("SIGTERM");
}

async function freeze(victim: Member, { forMs }: StepOf<"freeze">): Promise<void> {
  victim.isStopped = true;
  victim.process.signal("SIGSTOP");
  await wait(forMs);
  victim.process.signal("SIGCONT");
  victim.isStopped = false;
}

/** The injections continue while the database is down. */
async function crashDatabase({ setup, outages, resumed }: Progress): Promise<boolean> {
  if (outages.at(-1)?.toMs === Infinity) return false; // down already
  const startedBefore = await readServerStart(setup.db);
  if (startedBefore === null) return false;
  const outage = { fromMs: Date.now(), toMs: Infinity };
  outages.push(outage);
  resumed.push(crashUntilBack(setup, startedBefore).then((atMs) => void (outage.toMs = atMs)));
  return true;
}

/**
 * A connection that is still open may respond for a moment: only a different server proves that the database was down.
 */
async function crashUntilBack({ server, db }: InjectionSetup, startedBefore: string): Promise<number> {
  await server.crash();
  for (;;) {
    const started = await readServerStart(db);
    if (started !== null && started !== startedBefore) return Date.now();
    await wait(LOOK_MS);
  }
}

async function readServerStart(db: Database): Promise<string | null> {
  const rows = await db
    .query<{ at: string }>("select pg_postmaster_start_time()::text as at")
    .catch(() => [] as { at: string }[]);
  return rows[0]?.at ?? null;
}

async function terminateBackend({ db, fleet }: InjectionSetup, { seat, which }: StepOf<"backend">): Promise<boolean> {
  const rows = await db
    .query<{ done: boolean }>(
      `select pg_terminate_backend(pid) as done from (
         select pid, row_number() over (order by backend_start, pid) - 1 as n, count(*) over () as total
         from pg_stat_activity where datname = current_database() and application_name like $1) one
       where n = floor($2::float8 * total)`,
      [`promptd:%:${fleet.pidIn(seat) ?? "none"}`, which],
    )
    .catch(() => [] as { done: boolean }[]);
  return rows[0]?.done === true;
}

function cut({ proxy }: InjectionSetup, { when }: StepOf<"cut">): boolean {
  if (proxy.connections === 0) return false;
  if (when === "now") proxy.cut();
  else proxy.cutOnAnswer();
  return true;
}
