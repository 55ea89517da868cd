/** A process that serves searches on the given database and prints its memory growth as one JSON line. */
import { openDatabase } from "../../packages/server/src/platform/database/database.ts";
import { readJudgments } from "../search/evaluation-data.ts";
import { createOwnSearch } from "../search/own-systems.ts";
import { benchLog } from "../search/scratch-database.ts";

/** RSS falls gradually once loading is over. */
const SETTLE_MS = 3_000;

const url = process.argv[2];
if (url === undefined) throw new Error("The database URL is missing.");
const queries = readJudgments().map(({ q }) => q);
const db = await openDatabase({ url, role: "bench", log: benchLog });
await db.query("select 1");
const base = await readMemory();
const own = await createOwnSearch(db, null);
const loaded = grownBy(await readMemory());
for (const query of queries) await own.find(query);
console.log(JSON.stringify({ loaded, afterQueries: grownBy(await readMemory()) }));
await own.search.close();
await db.close();

async function readMemory(): Promise<NodeJS.MemoryUsage> {
  for (let i = 0; i < 3; i += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS / 3));
  }
  return process.memoryUsage();
}

/** In MB. */
function grownBy(now: NodeJS.MemoryUsage): Record<string, number> {
  const keys = ["rss", "heapUsed", "external", "arrayBuffers"] as const;
  return Object.fromEntries(keys.map((key) => [key, Math.round((now[key] - base[key]) / 1e5) / 10]));
}
