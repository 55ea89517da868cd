import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spreadOf, type Spread } from "./spread.ts";

const FLUSHES = 200;
/** A page of PostgreSQL's write-ahead log. */
const PAGE = Buffer.alloc(8_192, 1);

/** How many milliseconds it takes to flush a page to the disk that holds the measurements' databases. */
export function measureFlush(): Spread {
  const home = mkdtempSync(join(tmpdir(), "promptd-flush-"));
  const file = openSync(join(home, "journal"), "w");
  try {
    writeSync(file, Buffer.alloc(FLUSHES * PAGE.length)); // preallocated, like a write-ahead log
    fdatasyncSync(file);
    const times = Array.from({ length: FLUSHES }, (_, page) => {
      writeSync(file, PAGE, 0, PAGE.length, page * PAGE.length);
      const startedMs = performance.now();
      fdatasyncSync(file);
      return performance.now() - startedMs;
    });
    return spreadOf(times);
  } finally {
    closeSync(file);
    rmSync(home, { recursive: true });
  }
}
