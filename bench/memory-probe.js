// Loaded into the measured process by bench/memory-growth.ts: writes what Node says of its memory on SIGUSR2, and on
// SIGWINCH after a collection.
import { writeFileSync } from "node:fs";

const report = () => writeFileSync(process.env.BENCH_MEMORY_FILE, JSON.stringify(process.memoryUsage()));
process.on("SIGUSR2", report);
process.on("SIGWINCH", () => {
  globalThis.gc?.();
  report();
});
