import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * By itself V8 lets its heap grow to about four times what a full collection leaves, in a server that is busy. With 100 it
 * collects at twice that. Over 100,000 runs resident memory then stayed within 3 % of what it was after 10,000, where it
 * had grown by 23 % (2026-11-23, bench/cases/memory.ts; docs/decisions/2026-11-23-a-server-has-two-heaps.md).
 */
const GROWTH_PERCENT = 100;

/** Node has no setting for it, so it is said to V8. It counts from the next full collection on. */
export const HEAP_FLAG = "--heap-growing-percent";

export function boundHeapGrowth(): void {
  setFlagsFromString(`${HEAP_FLAG}=${GROWTH_PERCENT}`);
}

/**
 * Collects all that can be, and gives the pages back, which V8 does by itself only under load. For work that a process
 * does once: it stops for 100 to 300 ms. A first start was left with 206 MiB by the seed, and has 120 with this.
 */
export function returnMemory(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  setFlagsFromString("--no-expose-gc");
  collect({ type: "major", flavor: "last-resort", execution: "sync" });
}
