/** The processes of a chaos run. A process that dies is restarted at once, as an operator's supervisor would do. */
import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../packages/server/src/platform/database/database.ts";
import type { InstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import type { Exit, PromptdProcess } from "../../packages/server/test/support/promptd-process.ts";
import type { Role, Seat } from "./plan-faults.ts";

export interface Member {
  readonly role: Role;
  readonly process: PromptdProcess;
  readonly readyAtMs: number;
  isStopped: boolean;
  /** How it was told to end: by SIGTERM, or by SIGKILL or a second SIGTERM. Null: it has no reason to end. */
  doom: "drain" | "at once" | null;
}

export interface Fleet {
  /**
   * The process in this seat, if it is working and another one of its role can replace it: guarantees need a process to
   * uphold them. Null: not now.
   */
  victimIn(seat: Seat): Member | null;
  pidIn(seat: Seat): number | null;
  readonly apiUrls: () => string[];
  /** Unrequested exits, failed drains, and starts that failed or never finished. */
  readonly mishaps: readonly string[];
  /** Waits until no run is open. @returns false if that took too long. */
  settle(db: Database, ms: number): Promise<boolean>;
  stop(): Promise<void>;
}

interface Place {
  readonly seat: Seat;
  readonly role: Role;
  /** Every second API process is also a worker: it begins the runs that it creates, and takes those of others. */
  readonly startsAs: Role | "all";
}

/** A victim that has just started would die without having done anything. */
const WARM_MS = 60;
const RESTART_PAUSE_MS = 50;
/** A start waits for the database for a while before it gives up; a start that does neither has hung. */
const START_MS_MAX = 120_000;

export async function createFleet(
  fixture: InstallationFixture,
  counts: Readonly<Record<Role, number>>,
): Promise<Fleet> {
  const members = new Map<Seat, Member>();
  const mishaps: string[] = [];
  const stopping = new AbortController();

  /** One seat of the fleet: the process in it is replaced when it dies. */
  async function keepSeat(place: Place, first: PromptdProcess): Promise<void> {
    let process: PromptdProcess | null = first;
    while (!stopping.signal.aborted) {
      if (process !== null) await sit(place, process);
      await wait(RESTART_PAUSE_MS);
      // A start may fail while the database is down: the supervisor retries.
      process = stopping.signal.aborted ? null : await replace(place);
    }
    await process?.stop();
  }
  async function replace({ role, startsAs }: Place): Promise<PromptdProcess | null> {
    const hung = new AbortController();
    const start = fixture.start(startsAs).catch((error: unknown) => {
      // The database may be down; a start that fails for an unforeseen reason is a failure of the run.
      if (/failed unexpectedly/.test(String(error)))
        mishaps.push(`a ${role} process broke at its start: ${String(error)}`);
      return null;
    });
    const process = await Promise.race([start, wait(START_MS_MAX, "hung" as const, { signal: hung.signal })]);
    hung.abort();
    if (process !== "hung") return process;
    mishaps.push(`a ${role} process neither got ready nor gave up within ${START_MS_MAX / 1_000} s`);
    return null;
  }
  async function sit({ seat, role }: Place, process: PromptdProcess): Promise<void> {
    const member: Member = { role, process, readyAtMs: performance.now(), isStopped: false, doom: null };
    members.set(seat, member);
    const exit = await process.exit;
    members.delete(seat);
    if (!stopping.signal.aborted && !isExpected(exit, member.doom)) mishaps.push(describeEnd(member, exit));
  }
  const firsts = await Promise.all(
    placesOf(counts).map(async (place) => ({ place, process: await fixture.start(place.startsAs) })),
  );
  const seats = firsts.map(({ place, process }) => keepSeat(place, process));

  return {
    mishaps,
    victimIn: (seat) => {
      const one = members.get(seat);
      if (one === undefined || !isAtWork(one)) return null;
      const others = [...members.values()].filter((other) => other !== one && other.role === one.role);
      return others.some((other) => isAtWork(other) && other.doom === null) ? one : null;
    },
    pidIn: (seat) => members.get(seat)?.process.pid ?? null,
    apiUrls: () => [...members.values()].filter((member) => member.role === "api").map((member) => member.process.url),
    settle: async (db, ms) => {
      const endMs = performance.now() + ms;
      while (performance.now() < endMs) {
        const rows = await db.query("select 1 from runs where finished_at is null limit 1").catch(() => null);
        if (rows?.length === 0) return true;
        await wait(100);
      }
      return false;
    },
    stop: async () => {
      stopping.abort();
      const alive = [...members.values()];
      for (const { process } of alive) process.signal("SIGCONT");
      await Promise.all(alive.map(({ process }) => process.stop()));
      await Promise.all(seats);
    },
  };
}

function placesOf(counts: Readonly<Record<Role, number>>): Place[] {
  return (["api", "worker"] as const).flatMap((role) =>
    Array.from({ length: counts[role] }, (_, i): Place => {
      const startsAs = role === "api" && i % 2 === 1 ? "all" : role;
      return { role, seat: `${role} ${i + 1}`, startsAs };
    }),
  );
}

function isAtWork({ isStopped, doom, readyAtMs }: Member): boolean {
  return !isStopped && doom !== "at once" && performance.now() - readyAtMs > WARM_MS;
}

function isExpected(exit: Exit, doom: Member["doom"]): boolean {
  return doom === "drain" ? exit.code === 0 : doom === "at once";
}

function describeEnd({ role, process, doom }: Member, exit: Exit): string {
  const why = doom === null ? "by itself" : "while it drained";
  return `a ${role} process ended ${why} with ${exit.signal ?? exit.code}: ${process.log.slice(-3).join(" | ")}`;
}
