/**
 * promptd behind a real PgBouncer in transaction mode. It needs the pgbouncer program, so it runs only in `npm run
 * test:postgres`.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { openInstallation } from "../../src/installation.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { openConnection, openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { StartFailure } from "../../src/start-failure.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { PGBOUNCER, startPgbouncer, type Pgbouncer } from "../support/pgbouncer.ts";
import { openTestDatabase, type OpenTestDatabase } from "../support/test-database.ts";
import { readMetrics } from "../support/read-metrics.ts";
import { startTestServer } from "../support/test-server.ts";
import { bodyOf } from "../wire/requests.ts";
import { eventually } from "../support/eventually.ts";

const log = createLog("silent");

const SET_UPS = [
  { name: "that refuses limits sent with a connection", changes: {}, keepsNames: true },
  {
    name: "that ignores limits sent with a connection",
    changes: { ignore_startup_parameters: "statement_timeout, lock_timeout, idle_in_transaction_session_timeout" },
    keepsNames: true,
  },
  { name: "that does not follow prepared statements", changes: { max_prepared_statements: "0" }, keepsNames: false },
];

describe.skipIf(PGBOUNCER === undefined).each(SET_UPS)("behind a PgBouncer $name", ({ changes, keepsNames }) => {
  let database: OpenTestDatabase;
  let pooler: Pgbouncer;
  let db: Database;
  beforeAll(async () => {
    database = await openTestDatabase();
    pooler = await startPgbouncer(changes);
    db = await openDatabase({ url: pooler.urlOf(database.url), role: "pooled", log });
  });
  afterAll(async () => {
    await db.close();
    await pooler.stop();
    await database.close();
  });

  const LIMITS = `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
    current_setting('idle_in_transaction_session_timeout') as idle`;
  const IN_FORCE = { statement: "5s", lock: "3s", idle: "10s" };

  test("the route is detected", () => {
    expect(db.route).toEqual({ isPooled: true, keepsNames, firstStatement: null });
    expect(database.db.route).toEqual({ isPooled: false, keepsNames: true, firstStatement: null });
  });

  test("the limits apply to every kind of statement, and to nobody else", async () => {
    const found = await Promise.all([
      db.query(LIMITS),
      db.query({ name: "limits_test", text: LIMITS }),
      db.pipelined({ name: "limits_named_test", text: LIMITS }, []),
      db.tx((tx) => tx.query(LIMITS)),
    ]);
    expect(found).toEqual([[IN_FORCE], [IN_FORCE], [IN_FORCE], [IN_FORCE]]);
    expect(await db.queryWithin(1_234, LIMITS, [])).toEqual([{ ...IN_FORCE, statement: "1234ms" }]);
    const shorter = await db.tx((tx) => tx.query(LIMITS), { lockTimeoutMs: 1_000, statementTimeoutMs: 0 });
    expect(shorter).toEqual([{ statement: "0", lock: "1s", idle: "0" }]);
    const other = openConnection(pooler.urlOf(database.url), "other", {});
    await other.connect();
    onTestFinished(() => other.end());
    expect((await other.query(LIMITS)).rows).toEqual([{ statement: "0", lock: "0", idle: "0" }]);
  });

  test("a statement that takes too long is canceled by the server, and the connection stays usable", async () => {
    await expect(db.queryWithin(100, "select pg_sleep(5)", [])).rejects.toMatchObject({ code: "57014" });
    await expect(db.query("select 1 / 0")).rejects.toMatchObject({ code: "22012" });
    await expect(db.pipelined({ name: "divides_test", text: "select 1 / $1::int" }, [0])).rejects.toMatchObject({
      code: "22012",
    });
    expect(await db.query("select 1 as one")).toEqual([{ one: 1 }]);
    expect(await db.pipelined({ name: "one_test", text: "select $1::int as one" }, [1])).toEqual([{ one: 1 }]);
  });

  test("two hundred concurrent statements get their own answers over four connections, and what they write is committed", async () => {
    await db.query("create table numbers (n int)");
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    const answers = await Promise.all(
      numbers.map(async (i) => {
        if (i % 2 === 0) await db.pipelined({ name: "add_test", text: "insert into numbers values ($1)" }, [i]);
        else await db.query({ name: "add_more_test", text: "insert into numbers values ($1)" }, [i]);
        return (await db.pipelined<{ n: number }>({ name: "echo_test", text: "select $1::int as n" }, [i]))[0]?.n;
      }),
    );
    expect(answers).toEqual(numbers);
    expect(await database.db.query("select count(*)::int as n, sum(n)::int as sum from numbers")).toEqual([
      { n: 200, sum: 19_900 },
    ]);
  });
});

describe.skipIf(PGBOUNCER === undefined)("a server behind a PgBouncer", () => {
  let pooler: Pgbouncer;
  beforeAll(async () => {
    pooler = await startPgbouncer();
  });
  afterAll(() => pooler.stop());

  async function startPooled(change: (urls: { pooled: string; direct: string }) => Record<string, string>) {
    const [warn, debug] = [vi.fn(), vi.fn()];
    const server = await startTestServer({ role: "api", log: { ...createLog("silent"), warn, debug } });
    onTestFinished(() => server.close());
    const urls = { pooled: pooler.urlOf(server.databaseUrl), direct: server.databaseUrl };
    const app = await server.startAnother("all", change(urls));
    const caller = await server.createCaller({ credits: 1_000 });
    const { promptVersionId } = await server.publish(textPrompt());
    const client = server.clientOf(caller.apiKey, app.listenUrl ?? "");
    const run = async () => (await client.runs.create(bodyOf(promptVersionId, { topic: "tea" }))).runStatus;
    return { server, url: app.listenUrl ?? "", warn, debug, run };
  }
  const messages = (spy: { readonly mock: { readonly calls: unknown[][] } }) =>
    spy.mock.calls.map((call) => call.find((part) => typeof part === "string"));

  test("with DATABASE_DIRECT_URL runs prompts, receives notifications, and its ledger adds up", async () => {
    const { server, url, warn, debug, run } = await startPooled(({ pooled, direct }) => ({
      DATABASE_URL: pooled,
      DATABASE_DIRECT_URL: direct,
    }));
    const runs = await Promise.all(Array.from({ length: 50 }, run));
    expect(runs.filter((status) => status !== "succeeded")).toEqual([]);
    expect((await server.checkLedger()).mismatches).toEqual([]);
    expect((await readMetrics(url)).value("promptd_database_up")).toBe(1);
    await eventually(() => expect(messages(debug)).toContain("notifications arrive"));
    expect(messages(warn).filter((message) => /pooler|notifications/.test(String(message)))).toEqual([]);
  });

  test("says what to set if notifications do not arrive, and its runs still succeed", async () => {
    const { warn, run } = await startPooled(({ pooled }) => ({ DATABASE_URL: pooled }));
    await eventually(() => expect(messages(warn).join("\n")).toContain("set DATABASE_DIRECT_URL"));
    expect(await run()).toBe("succeeded");
  });

  test.each([
    ["that supports only single statements", { pool_mode: "statement" }, "*", "pool_mode = transaction"],
    ["without an entry for the database", { auth_type: "trust" }, "other", "[databases]"],
    ["that does not know the user", { auth_type: "trust", auth_file: "/dev/null" }, "*", "auth_file"],
    ["that expects another password", { auth_type: "scram-sha-256", auth_file: "/dev/null" }, "*", "password"],
  ])("one %s is refused at once, and the message says what to set", async (_what, changes, entry, advice) => {
    const refusing = await startPgbouncer(changes, entry);
    onTestFinished(() => refusing.stop());
    const database = await openTestDatabase();
    onTestFinished(() => database.close());
    const { message, warnings } = await refusalOf(refusing.urlOf(database.url), database.url);
    expect(message).toContain(advice);
    expect(message).toContain("\nDATABASE_URL points to ");
    expect(warnings).toEqual([]); // a start that retries would log it and take a minute
  });

  test("a database that does not exist is refused at once, based on the error of the server behind the pooler", async () => {
    const address = pooler.urlOf("postgresql://promptd@/no_such_database");
    expect(await refusalOf(address)).toEqual({ message: expect.stringContaining("Create the database"), warnings: [] });
  });

  async function refusalOf(url: string, direct?: string) {
    const warn = vi.fn();
    const config = readConfig({ DATABASE_URL: url, ...(direct === undefined ? {} : { DATABASE_DIRECT_URL: direct }) });
    const opening = openInstallation({ config, role: "test", log: { ...createLog("silent"), warn } });
    const error: unknown = await opening.then(
      (installation) => installation.close(),
      (cause: unknown) => cause,
    );
    return { message: error instanceof StartFailure ? error.message : String(error), warnings: messages(warn) };
  }
});
