import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { HEAP_FLAG, returnMemory } from "./v8-heap.ts";

test("the flag that limits the heap is known to V8, which silently ignores unknown flags", () => {
  expect(execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" })).toContain(`  ${HEAP_FLAG} `);
});

const OBJECTS = 300_000;

test("memory that is no longer needed is returned at once", () => {
  const garbage = new Set(Array.from({ length: OBJECTS }, (_, i) => ({ text: `garbage ${i}` })));
  const full = process.memoryUsage();
  garbage.clear();
  returnMemory();
  const { heapTotal, heapUsed } = process.memoryUsage();
  expect(full.heapUsed - heapUsed).toBeGreaterThan(OBJECTS * 40);
  expect(full.heapTotal - heapTotal).toBeGreaterThan(OBJECTS * 40);
});
