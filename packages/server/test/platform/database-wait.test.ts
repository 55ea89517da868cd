/** Startup with a database that restarts, recovers, or does not respond. */
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { openInstallation } from "../../src/installation.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { StartFailure } from "../../src/start-failure.ts";
import { freePort } from "../support/free-port.ts";
import { createTestDatabase, openTestDatabase } from "../support/test-database.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

interface Line {
  readonly level: number;
  readonly msg: string;
}

/** Starts on the given database, and collects the lines that it logs. */
function startOn(url: string, options: { readonly retryMs?: number } = {}) {
  const lines: Line[] = [];
  const waits = Promise.withResolvers<null>();
  const log = pino(
    { level: "info" },
    {
      write: (line: string) => {
        lines.push(JSON.parse(line) as Line);
        if (line.includes("is not responding yet")) waits.resolve(null);
      },
    },
  );
  const stop = new AbortController();
  const config = readConfig({ DATABASE_URL: url });
  const opening = openInstallation({ config, role: "test", log, signal: stop.signal, ...options });
  opening.catch(waits.reject);
  waits.promise.catch(() => {}); // not every test waits for it
  return { opening, stop, waits: waits.promise, lines, messages: () => lines.map(({ msg }) => msg) };
}

async function openProxy() {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const proxy = await startTcpProxy(database.url);
  onTestFinished(() => proxy.close());
  return proxy;
}

test("startup waits for a recovering database, and logs one line for the wait and one for its end", async () => {
  const proxy = await openProxy();
  proxy.startUp(4);
  const { opening, messages } = startOn(proxy.url);
  const installation = await opening;
  expect(await installation.db.query("select 1 as one")).toEqual([{ one: 1 }]);
  await installation.close();
  expect(messages()).toEqual(["the database is not responding yet; retrying", "the database is responding"]);
});

test("a first start logs in one short line which migrations it applied", async () => {
  const empty = await openTestDatabase();
  onTestFinished(() => empty.close());
  await empty.db.query("drop schema public cascade; create schema public");
  const { opening, lines } = startOn(empty.url);
  const installation = await opening;
  await installation.close();
  const { applied } = installation;
  const migrations = applied.filter((name) => /^\d{4}-/.test(name));
  expect(lines).toMatchObject([
    {
      msg: "the database schema is up to date",
      migrations: migrations.length,
      first: "0001-platform",
      last: migrations.at(-1),
      functions: applied.length - migrations.length,
    },
  ]);
});

test.each([
  [
    "recovers",
    async () => {
      const proxy = await openProxy();
      proxy.startUp(Infinity);
      return proxy.url;
    },
  ],
  ["refuses connections", async () => `postgresql://ada@127.0.0.1:${await freePort()}/prompts`],
])("a stop immediately ends the wait for a database that %s", async (_what, urlOf) => {
  const { opening, stop, waits } = startOn(await urlOf());
  await waits;
  stop.abort(new StartFailure("Startup was canceled."));
  await expect(opening).rejects.toThrow(/^Startup was canceled\.$/);
});

test("a stop ends an unanswered connection attempt at once, not after its timeout", async () => {
  const proxy = await openProxy();
  proxy.blackhole(true);
  const { opening, stop } = startOn(proxy.url);
  await expect.poll(() => proxy.connections).toBeGreaterThan(0);
  const stoppedMs = performance.now();
  stop.abort(new StartFailure("Startup was canceled."));
  await expect(opening).rejects.toThrow(/^Startup was canceled\.$/);
  expect(performance.now() - stoppedMs).toBeLessThan(3_000); // a connection may take 5 s to open
});

test("a database that stays unreachable is finally reported, without its password", async () => {
  const port = await freePort();
  const { opening } = startOn(`postgresql://ada:hunter2@127.0.0.1:${port}/prompts`, { retryMs: 300 });
  await expect(opening).rejects.toThrow(`The database cannot be used: connect ECONNREFUSED 127.0.0.1:${port}.
Check that it is running, and check the address, database, user, and password that promptd uses.
DATABASE_URL points to 127.0.0.1:${port}, database "prompts", user "ada".`);
});
