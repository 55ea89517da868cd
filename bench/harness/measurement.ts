import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { cpus, loadavg, release, totalmem } from "node:os";

/** Files that measurements write, which do not count as changes for the next measurement. */
const WRITTEN = ["bench/results", "docs/performance.md", "docs/screens/performance.svg", "README.md"];

/** The measured commit; "with changes" when the tree has uncommitted changes. */
export function readCommit(directory: string = import.meta.dirname): string {
  const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: directory, encoding: "utf8" }).trim();
  const paths = [":/", ...WRITTEN.map((path) => `:(exclude,top)${path}`)];
  try {
    return git("status", "--porcelain", "--", ...paths) === "" ? git("rev-parse", "--short", "HEAD") : "with changes";
  } catch {
    return "unknown";
  }
}

const LISTEN_MS = 2_000;

/**
 * Cores that are busy while this process waits. Before and after a measurement, that is other work. The load average
 * would include the previous measurement.
 */
export async function measureOtherWork(): Promise<number> {
  const read = () => cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
  const [before, beganMs] = [read(), performance.now()];
  await wait(LISTEN_MS);
  return Math.round(((read() - before) / (performance.now() - beganMs)) * 100) / 100;
}

/** Where, when, and on which commit a measurement was taken. */
export function describeMeasurement() {
  return {
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "?"}`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    isVirtual: /hypervisor/.test(readCpuFlags()),
    loadAverage: loadavg().map((load) => Math.round(load * 100) / 100),
    node: process.version,
    commit: readCommit(),
    at: new Date().toISOString(),
  };
}

function readCpuFlags(): string {
  try {
    return readFileSync("/proc/cpuinfo", "utf8");
  } catch {
    return ""; // not Linux
  }
}
