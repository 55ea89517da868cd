// Loaded into the measured process by bench/cases/memory.ts. On SIGUSR2, writes Node's memory figures. It does not force a
// garbage collection, which would change the measurement, but records what each full collection leaves. Plain JavaScript,
// because the type stripper would stay in memory.
import { writeFileSync } from "node:fs";
import { constants, PerformanceObserver } from "node:perf_hooks";

let heapAfterCollection = process.memoryUsage().heapUsed;
new PerformanceObserver((list) => {
  const isFull = list.getEntries().some((entry) => entry.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR);
  if (isFull) heapAfterCollection = process.memoryUsage().heapUsed;
}).observe({ entryTypes: ["gc"] });

process.on("SIGUSR2", () => {
  const report = { ...process.memoryUsage(), heapAfterCollection };
  writeFileSync(process.env["BENCH_MEMORY_FILE"] ?? "memory.json", JSON.stringify(report));
});
