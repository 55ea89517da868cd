import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { HEAP_FLAG, returnMemory } from "./v8-heap.ts";

test("the flag that bounds the heap is one that V8 knows; it ignores others in silence", () => {
  expect(execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" })).toContain(`  ${HEAP_FLAG} `);
});

const OBJECTS = 300_000;

test("what nobody needs any more is given back at once", () => {
  const garbage = new Set(Array.from({ length: OBJECTS }, (_, i) => ({ text: `garbage ${i}` })));
  const full = process.memoryUsage();
  garbage.clear();
  returnMemory();
  const { heapTotal, heapUsed } = process.memoryUsage();
  expect(full.heapUsed - heapUsed).toBeGreaterThan(OBJECTS * 40);
  expect(full.heapTotal - heapTotal).toBeGreaterThan(OBJECTS * 40);
});
