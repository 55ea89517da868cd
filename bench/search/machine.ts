/** What a measurement was made on. */
import { readFileSync } from "node:fs";
import { cpus, freemem, loadavg, release, totalmem } from "node:os";

export function describeMachine(): Record<string, unknown> {
  const [first] = cpus();
  return {
    cpu: first?.model ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    freeGb: Math.round(freemem() / 2 ** 30),
    kernel: release(),
    isVirtual: /hypervisor/.test(readCpuFlags()),
    loadAverage: loadavg().map((value) => Math.round(value * 100) / 100),
    node: process.version,
  };
}

function readCpuFlags(): string {
  try {
    return readFileSync("/proc/cpuinfo", "utf8");
  } catch {
    return ""; // not Linux
  }
}
