/**
 * How much of the machine this run got. A small process that needs a fixed amount of CPU time is started again and
 * again: the time until it had got it, divided by that amount, is the slowdown. The process is not part of promptd, so
 * promptd cannot excuse itself by being slow.
 */
import { execFile } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";

/** Times are milliseconds since 1970. */
export interface Slowdown {
  readonly fromMs: number;
  readonly toMs: number;
  /** 1: alone on a CPU. */
  readonly factor: number;
}

export interface MachineWatch {
  stop(): Promise<readonly Slowdown[]>;
}

const WORK_MS = 60;
const PAUSE_MS = 1_500;
/** Starting node takes part of it; the rest is spent in a loop. */
const WORK = `const spent = () => { const { user, system } = process.cpuUsage(); return user + system; };
while (spent() < ${WORK_MS * 1_000});`;

export function watchMachine(): MachineWatch {
  const stopping = new AbortController();
  const seen: Slowdown[] = [];
  const watching = (async () => {
    let fromMs = Date.now();
    while (!stopping.signal.aborted) {
      const factor = await measureSlowdown();
      const toMs = Date.now();
      seen.push({ fromMs, toMs, factor });
      fromMs = toMs;
      await wait(PAUSE_MS, null, { signal: stopping.signal }).catch(() => {});
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await watching;
      return seen;
    },
  };
}

async function measureSlowdown(): Promise<number> {
  const startedMs = performance.now();
  await promisify(execFile)(process.execPath, ["--eval", WORK]);
  return (performance.now() - startedMs) / WORK_MS;
}
