/**
 * The memory that search adds to a process that serves it: before the first query, once everything is loaded, and after
 * all development queries. A second process indexes, so its garbage is not counted.
 *
 *   node --conditions=promptd-source bench/search-memory.ts [--docs 4098]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { openDatabase } from "../packages/server/src/platform/database/database.ts";
import { readCorpus, readJudgments } from "./search/evaluation-data.ts";
import { growCatalogue } from "./search/grown-catalogue.ts";
import { createOwnSearch, indexCorpus } from "./search/own-systems.ts";
import { benchLog, createScratchDatabase } from "./search/scratch-database.ts";

const { values: flags } = parseArgs({
  options: { docs: { type: "string", default: "4098" }, serve: { type: "string" } },
});
/** RSS falls back by and by once the loading is over. */
const SETTLE_MS = 3_000;

async function indexAndMeasure(): Promise<void> {
  const scratch = await createScratchDatabase();
  try {
    await indexCorpus(scratch.db, growCatalogue(readCorpus(), Number(flags.docs)));
    const child = spawn(
      process.execPath,
      ["--expose-gc", "--conditions=promptd-source", import.meta.filename, "--serve", scratch.url],
      { stdio: "inherit" },
    );
    await once(child, "exit");
  } finally {
    await scratch.drop();
  }
}

async function serveAndMeasure(url: string): Promise<void> {
  const queries = readJudgments().map(({ q }) => q);
  const db = await openDatabase({ url, role: "bench", log: benchLog });
  await db.query("select 1");
  const base = await readMemory();
  const own = await createOwnSearch(db, null);
  print("loaded", await readMemory(), base);
  for (const query of queries) await own.find(query);
  print(`after ${queries.length} queries`, await readMemory(), base);
  await own.search.close();
  await db.close();
}

async function readMemory(): Promise<NodeJS.MemoryUsage> {
  for (let i = 0; i < 3; i += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS / 3));
  }
  return process.memoryUsage();
}

function print(name: string, now: NodeJS.MemoryUsage, base: NodeJS.MemoryUsage): void {
  const cells = (["rss", "heapUsed", "external", "arrayBuffers"] as const).map(
    (key) => `${key} +${((now[key] - base[key]) / 1e6).toFixed(1)} MB`,
  );
  console.log(`${name.padEnd(20)}${cells.join("  ")}`);
}

if (flags.serve === undefined) await indexAndMeasure();
else await serveAndMeasure(flags.serve);
