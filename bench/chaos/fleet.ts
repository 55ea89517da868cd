/** The processes of a chaos run. What dies is started again at once, as an operator's supervisor would. */
import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../packages/server/src/platform/database.ts";
import type { InstallationFixture } from "../../packages/server/test/installation-fixture.ts";
import type { Exit, PromptdProcess } from "../../packages/server/test/promptd-process.ts";

export interface Member {
  readonly role: "api" | "worker";
  readonly process: PromptdProcess;
  readonly readyAtMs: number;
  isStopped: boolean;
  /** How it was told to end: by SIGTERM, or by SIGKILL or a second SIGTERM. Null: it has no reason to end. */
  doom: "drain" | "at once" | null;
}

export interface Fleet {
  /** Processes that another one of their role can stand in for: what is promised needs somebody to keep it. */
  expendable(): Member[];
  readonly apiUrls: () => string[];
  /** Ends that nobody asked for, drains that went wrong, starts that never came to an end. */
  readonly mishaps: readonly string[];
  /** Waits until no run is open. @returns false when that took too long. */
  settle(db: Database, ms: number): Promise<boolean>;
  stop(): Promise<void>;
}

/** A victim that has only just started would die doing nothing. */
const WARM_MS = 60;
const RESTART_PAUSE_MS = 50;
/** A start waits for the database for a while before it gives up by itself; one that does neither has hung. */
const START_MS_MAX = 120_000;

export async function createFleet(
  fixture: InstallationFixture,
  counts: Readonly<Record<Member["role"], number>>,
): Promise<Fleet> {
  const members = new Set<Member>();
  const mishaps: string[] = [];
  const seats: Promise<void>[] = [];
  const stopping = new AbortController();

  /** One place of the fleet: whoever sits in it is replaced when it dies. */
  async function keepSeat(role: Member["role"], first: PromptdProcess): Promise<void> {
    let process: PromptdProcess | null = first;
    while (!stopping.signal.aborted) {
      if (process !== null) await sit(role, process);
      await wait(RESTART_PAUSE_MS);
      // A start may fail while the database is down: the supervisor tries again.
      process = stopping.signal.aborted ? null : await replace(role);
    }
    await process?.stop();
  }
  async function replace(role: Member["role"]): Promise<PromptdProcess | null> {
    const hung = new AbortController();
    const start = fixture.start(role).catch(() => null);
    const process = await Promise.race([start, wait(START_MS_MAX, "hung" as const, { signal: hung.signal })]);
    hung.abort();
    if (process !== "hung") return process;
    mishaps.push(`a ${role} process neither got ready nor gave up within ${START_MS_MAX / 1_000} s`);
    return null;
  }
  async function sit(role: Member["role"], process: PromptdProcess): Promise<void> {
    const member: Member = { role, process, readyAtMs: performance.now(), isStopped: false, doom: null };
    members.add(member);
    const exit = await process.exit;
    members.delete(member);
    if (!stopping.signal.aborted && !isExpected(exit, member.doom)) mishaps.push(describeEnd(member, exit));
  }
  const roles = (["api", "worker"] as const).flatMap((role) => Array.from({ length: counts[role] }, () => role));
  const firsts = await Promise.all(roles.map((role) => fixture.start(role)));
  for (const [i, first] of firsts.entries()) seats.push(keepSeat(roles[i] ?? "worker", first));

  return {
    mishaps,
    expendable: () => {
      const atWork = [...members].filter((one) => !one.isStopped && performance.now() - one.readyAtMs > WARM_MS);
      return atWork.filter((one) =>
        atWork.some((other) => other !== one && other.role === one.role && other.doom === null),
      );
    },
    apiUrls: () => [...members].filter((member) => member.role === "api").map((member) => member.process.url),
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
      const alive = [...members];
      for (const { process } of alive) process.signal("SIGCONT");
      await Promise.all(alive.map(({ process }) => process.stop()));
      await Promise.all(seats);
    },
  };
}

function isExpected(exit: Exit, doom: Member["doom"]): boolean {
  return doom === "drain" ? exit.code === 0 : doom === "at once";
}

function describeEnd({ role, process, doom }: Member, exit: Exit): string {
  const why = doom === null ? "by itself" : "while it drained";
  return `a ${role} process ended ${why} with ${exit.signal ?? exit.code}: ${process.log.slice(-3).join(" | ")}`;
}
