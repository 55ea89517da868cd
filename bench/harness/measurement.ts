import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

/** The commit that a measurement was taken of; "with changes" when the tree was not that of a commit. */
export function readCommit(): string {
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).trim();
  try {
    return git("status", "--porcelain") === "" ? git("rev-parse", "--short", "HEAD") : "with changes";
  } catch {
    return "unknown";
  }
}

/** Where, when and of what a measurement is taken. Called before it begins: the load is that of others. */
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
