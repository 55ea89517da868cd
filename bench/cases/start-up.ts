/**
 * From process start to the first 200, in rotated order: a bare Node process with one connection to a running database;
 * promptd on the same database, to its first authenticated response and to /readyz, which also waits for search; and
 * promptd with its embedded database in a previously used directory. All with cached compiled code, as after a first
 * start.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import { COMPILE_CACHE, startPromptd } from "../../packages/server/test/support/promptd-process.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase } from "../harness/bench-case.ts";
import { startServer } from "../harness/child-server.ts";
import { rotate } from "../harness/load.ts";
import { onDatabase } from "../harness/on-database.ts";
import { spreadOf } from "../harness/spread.ts";

const BARE = join(import.meta.dirname, "../harness/bare-process.js");

export const startUp = defineCase({
  sizes: { rounds: [10, 1] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes.rounds)),
});

/** What is started, and the path that returns 200 once it serves. */
interface Starter {
  readonly name: "bare Node" | "promptd" | "promptd, /readyz" | "promptd, embedded database, /readyz";
  readonly path: string;
  readonly apiKey?: string;
  start(): Promise<{ readonly url: string; stop(): Promise<unknown> }>;
}

async function measure(server: ChaosDatabase, rounds: number) {
  const fixture = await openInstallationFixture(server.url);
  const { apiKey } = await fixture.createCaller();
  const dataDir = mkdtempSync(join(tmpdir(), "promptd-start-"));
  const environment = { NODE_COMPILE_CACHE: COMPILE_CACHE };
  const starters: Starter[] = [
    { name: "bare Node", path: "/", start: () => startServer({ file: BARE, args: [server.url], environment }) },
    { name: "promptd", path: "/v1/me", apiKey, start: () => fixture.start() },
    { name: "promptd, /readyz", path: "/readyz", start: () => fixture.start() },
    {
      name: "promptd, embedded database, /readyz",
      path: "/readyz",
      start: () => startPromptd({ environment: { PROMPTD_DATA_DIR: dataDir, PROMPTD_LOG_LEVEL: "warn" } }),
    },
  ];
  const times = new Map(starters.map(({ name }) => [name, [] as number[]]));
  for (let round = -1; round < rounds; round += 1)
    for (const starter of rotate(starters, round + 1)) {
      const ms = await measureStart(starter);
      if (round >= 0) times.get(starter.name)?.push(ms); // the first round fills caches and creates the directory
      console.error(`round ${round + 1}: ${starter.name} ${Math.round(ms)} ms`);
    }
  await fixture.close();
  rmSync(dataDir, { recursive: true });
  const bare = times.get("bare Node") ?? [];
  return {
    starts: [...times].map(([name, ms]) => ({
      name,
      ms: spreadOf(ms),
      besideBare: spreadOf(ms.map((one, i) => one / (bare[i] ?? NaN))),
    })),
  };
}

async function measureStart(starter: Starter): Promise<number> {
  const { path, apiKey } = starter;
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const startedMs = performance.now();
  const server = await starter.start();
  for (;;) {
    const { status } = await fetch(`${server.url}${path}`, { headers });
    if (status === 200) break;
  }
  const ms = performance.now() - startedMs;
  await server.stop();
  return ms;
}
