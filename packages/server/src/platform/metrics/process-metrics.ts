import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { VERSION } from "../version.ts";
import { familyOf, singleFamily, type Family } from "./metrics.ts";

/** Measured from the first scrape on: its timer wakes an idle process. */
let delays: ReturnType<typeof monitorEventLoopDelay> | null = null;
const DELAY_RESOLUTION_MS = 20;

/** Reads what any Node process reports, under the names that dashboards know, and which promptd this is. */
export function readProcessMetrics(role: string): Family[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const one = (name: string, help: string, value: number) => singleFamily({ name, help }, value);
  const cpu = { name: "process_cpu_seconds_total", help: "CPU time of this process.", type: "counter" } as const;
  const info = { name: "promptd_info", help: "Always 1. The labels say which promptd this process is." };
  return [
    familyOf(info, ["version", "role"], [[[VERSION, role], 1]]),
    singleFamily(cpu, (user + system) / 1e6),
    one("process_resident_memory_bytes", "Resident memory of this process.", rss),
    one("process_start_time_seconds", "When this process started, in Unix time.", performance.timeOrigin / 1_000),
    one("nodejs_heap_size_used_bytes", "JavaScript heap in use in this process.", heapUsed),
    one(
      "nodejs_eventloop_lag_max_seconds",
      "Longest delay of the event loop of this process since the previous scrape.",
      takeLongestDelay(),
    ),
  ];
}

function takeLongestDelay(): number {
  if (delays === null) {
    delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
    delays.enable();
  }
  const seconds = delays.max / 1e9;
  delays.reset();
  return seconds;
}
