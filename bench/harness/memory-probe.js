// Loaded into the measured process by bench/cases/memory.ts: writes what Node says of its memory on SIGUSR2. It forces no
// collection, which would change what is measured; it notes what each full collection has left. Plain JavaScript, since
// what strips types stays in memory.
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
