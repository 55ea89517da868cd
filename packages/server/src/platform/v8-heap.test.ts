import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { HEAP_FLAG } from "./v8-heap.ts";

test("the flag that bounds the heap is one that V8 knows; it ignores others in silence", () => {
  expect(execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" })).toContain(`  ${HEAP_FLAG} `);
});
