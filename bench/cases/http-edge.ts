/**
 * The cost of promptd's HTTP layer compared with bare node:http: a static route, and GET /v1/me, whose key and rate limit
 * are checked in one statement that requests share. 64 callers, 50 accounts.
 */
import { join } from "node:path";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { startServer } from "../harness/child-server.ts";
import { findPostmaster } from "../harness/cpu.ts";
import type { Outgoing } from "../harness/http-line.ts";
import { interleave, type Target } from "../harness/load.ts";
import { onDatabase } from "../harness/on-database.ts";
import { spreadOf, spreadOfEach } from "../harness/spread.ts";

const ACCOUNTS = 50;
const CALLERS = 64;

export const httpEdge = defineCase({
  sizes: { rounds: [5, 1], seconds: [3, 1] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes)),
});

async function measure(server: ChaosDatabase, sizes: Bench<"rounds" | "seconds">["sizes"]) {
  const fixture = await openInstallationFixture(server.url, { PROMPTD_LEASE_MS: "6000" });
  const bare = await startServer({ file: join(import.meta.dirname, "../harness/bare-server.ts") });
  const api = await fixture.start("api");
  const keys: string[] = [];
  for (let i = 0; i < ACCOUNTS; i += 1) keys.push((await fixture.createCaller()).apiKey);
  const get = (path: string, key?: string): Outgoing => {
    return { method: "GET", path, ...(key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }) };
  };
  const processes = { server: api.pid, database: await findPostmaster(fixture.db) };
  const own = { url: api.url, processes };
  const targets = {
    "bare node:http": { url: bare.url, requests: [get("/")], words: "{}", processes: { server: bare.pid } },
    "static route": { ...own, requests: [get("/healthz")], words: '"healthy":true' },
    "GET /v1/me": { ...own, requests: keys.map((key) => get("/v1/me", key)), words: '"userFlags"' },
  } satisfies Record<string, Omit<Target, "name">>;
  const names = Object.keys(targets) as (keyof typeof targets)[];
  const load = { callers: CALLERS, seconds: sizes.seconds };
  const rounds = await interleave(
    names.map((name) => ({ name, target: { name, ...targets[name] }, load })),
    sizes.rounds,
  );
  await Promise.all([bare.stop(), api.stop()]);
  await fixture.close();
  const ratio = (name: keyof typeof targets, base: keyof typeof targets, what: "perSecond" | "serverMs") =>
    spreadOf(rounds[name].map((round, i) => round[what] / (rounds[base][i]?.[what] ?? NaN)));
  return {
    targets: Object.fromEntries(names.map((name) => [name, spreadOfEach(rounds[name])])),
    meToStatic: {
      rate: ratio("GET /v1/me", "static route", "perSecond"),
      serverMs: ratio("GET /v1/me", "static route", "serverMs"),
    },
    staticToBare: {
      rate: ratio("static route", "bare node:http", "perSecond"),
      serverMs: ratio("static route", "bare node:http", "serverMs"),
    },
  };
}
