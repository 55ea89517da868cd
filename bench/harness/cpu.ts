/** Processor time and memory of processes, as reported by Linux. */
import { readdirSync, readFileSync } from "node:fs";
import type { Database } from "../../packages/server/src/platform/database/database.ts";

/** The unit of /proc: hundredths of a second. */
const TICK_MS = 10;

/** The time of the process itself. */
export function cpuMsOf(pid: number): number {
  return (readStat(pid)?.ticks ?? 0) * TICK_MS;
}

/** The time of a process and its children, including children that have ended: a database server. */
export function cpuMsOfTree(pid: number): number {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readStat(Number(name)))
    .filter((stat) => stat?.parent === pid);
  const own = readStat(pid);
  const ticks = children.reduce((sum, child) => sum + (child?.ticks ?? 0), (own?.ticks ?? 0) + (own?.endedTicks ?? 0));
  return ticks * TICK_MS;
}

export async function findPostmaster(db: Database): Promise<number> {
  const [row] = await db.query<{ pid: number }>("select pg_backend_pid() as pid");
  return readStat(row?.pid ?? 0)?.parent ?? 0;
}

export function residentMib(pid: number): number {
  const kib = /^VmRSS:\s+(?<kib>\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.groups?.["kib"];
  return Math.round((Number(kib) / 1_024) * 10) / 10;
}

/** Null: it has ended. */
function readStat(pid: number): { parent: number; ticks: number; endedTicks: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // a name may contain spaces
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map((i) =>
      Number(fields[i]),
    );
    return { parent, ticks: user + system, endedTicks: endedUser + endedSystem };
  } catch {
    return null;
  }
}
