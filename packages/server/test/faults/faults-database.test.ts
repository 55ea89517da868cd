/** The database goes away in every possible way, during requests and runs. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PromptdError } from "@promptd/client";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { enableFaults, type FaultPoint } from "../../src/platform/fault-injection.ts";
import { createLog } from "../../src/platform/log.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { findFaults } from "../support/installation-fixture.ts";
import { until } from "../support/promptd-process.ts";
import { createTestDatabase, IN_THIS_DATABASE, type TestDatabase } from "../support/test-database.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text\ninputs: { ask: {} }\n---\n{{ ask }}\n";
/** More steps than a run has attempts. */
const STEPS = ["first", "second", "third", "fourth"];
const CHAIN = [
  "---\npromptd: 1\ntitle: Chain\nmodel: sandbox/text\ninputs: { ask: {} }",
  `steps:\n${STEPS.map((name) => `  ${name}: {}`).join("\n")}\n---`,
  ...STEPS.map((name) => `<!-- step: ${name} -->\n{{ ask }}`),
].join("\n");
const ENVIRONMENT = { PROMPTD_LEASE_MS: "1500", PROMPTD_SECRET: "the same for all processes of a test" };
const LATEST_ANSWER_MS = 12_000; // a statement is given up after 6 s, opening a connection after 5
/** A create searches for its run for 5 s more, and its last attempt may get no response either. */
const LATEST_CREATE_MS = 18_000;
const WAITS_FOR_LOCK = `select query_start::text as since from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%run_create%'`;
let database: TestDatabase;
let proxy: TcpProxy;
let server: TestServer;
let caller: TestCaller;
let body: { promptVersionId: string; inputs: { textInputs: { ask: string } } };
/** Bypasses the proxy: what is really in the database. */
let direct: Database;

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startTcpProxy(database.url);
  server = await startTestServer({ environment: { ...ENVIRONMENT, DATABASE_URL: proxy.url } });
  const published = await server.publish(ECHO);
  caller = await server.createCaller();
  body = { promptVersionId: published.promptVersionId, inputs: { textInputs: { ask: "hello" } } };
  direct = await openDatabase({ url: database.url, role: "test", log: createLog("silent", "stderr"), poolMax: 2 });
});
afterEach(async () => {
  enableFaults("");
  proxy.blackhole(false);
  await direct.close();
  await server.close();
  await proxy.close();
  await database.drop();
});

/** Keeps the account's row locked, bypassing the proxy. @returns a function that releases it. */
async function lockAccount(accountId: string): Promise<() => Promise<void>> {
  const [locked, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = direct.tx(
    async (tx) => {
      await tx.query("select 1 from credit_accounts where account_id = $1 for update", [accountId]);
      locked.resolve();
      await unlocked.promise;
    },
    { statementTimeoutMs: 0 },
  );
  await locked.promise;
  return async () => {
    unlocked.resolve();
    await holder;
  };
}

async function runsInDatabase(): Promise<{ id: string; status: string }[]> {
  return direct.query("select id, status from runs order by id");
}

const untilAllFinal = () =>
  until(async () => (await direct.query("select 1 from runs where finished_at is null")).length === 0);

/**
 * If the machine is busy as well, a wait may end before its run does: the 504 names the run, which continues. A send is
 * counted before it is made, so a run whose counts were cut off three times has failed, free of charge: nobody knows
 * whether its provider was called.
 */
const KNOWN_OUTCOMES = ["succeeded", "failed", "SERVER_ERROR", "GATEWAY_TIMEOUT_ERROR"];

const SENT_TOO_OFTEN = { type: "error", data: "The model could not be reached after several attempts." };
/** Its worker failed to renew the lease, which is short here, as often as a run has attempts. */
const LOST_TOO_OFTEN = { type: "error", data: "The run could not be completed. You were not charged." };

/** Sixty concurrent callers. @returns each caller's response. */
function createMany(text: (i: number) => string): Promise<string[]> {
  return Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      try {
        return (await caller.client.runs.create({ ...body, inputs: { textInputs: { ask: text(i) } } })).runStatus;
      } catch (error) {
        return error instanceof PromptdError ? error.code : String(error);
      }
    }),
  );
}

/** The listener's backend, by its process id: it never exits by itself, so a different id means that it was cut off. */
async function listenerOf(): Promise<number | null> {
  const rows = await direct.query<{ pid: number }>(
    "select pid from pg_stat_activity where application_name like 'promptd:%listen%' and datname = current_database()",
  );
  return rows.length === 1 ? (rows[0]?.pid ?? null) : null;
}

/**
 * Once every run is final, nothing is wrong. A statement in transit when a connection was lost may still create a run,
 * whose caller was told that it may exist. Any other problem except a run that is not final yet fails at once.
 */
async function expectSound(): Promise<void> {
  let faults: readonly unknown[] = [];
  await until(async () => {
    faults = await findFaults(direct);
    return !JSON.stringify(faults).includes('"not final"');
  });
  expect(faults).toEqual([]);
}

/** Cuts the connections at the point during the action, and checks that the action was cut off. */
async function withCutAt<Result>(point: FaultPoint, act: () => Promise<Result>): Promise<Result> {
  await until(async () => (await listenerOf()) !== null);
  const before = await listenerOf();
  enableFaults(`${point}:cut@1`);
  const result = await act();
  await until(async () => ![before, null].includes(await listenerOf()));
  return result;
}

describe("a connection that is lost", () => {
  test("before the commit of a create: the create is sent again, and one run exists", async () => {
    const create = () => caller.client.runs.create(body, { idempotencyKey: null });
    const run = await withCutAt("create.before_commit", create);
    expect(run.runStatus).toBe("succeeded");
    expect(await runsInDatabase()).toEqual([{ id: run.runId, status: "succeeded" }]);
    expect(await findFaults(direct)).toEqual([]);
  });

  test("with the response to a create: the run is looked up, not created again", async () => {
    const cut = proxy.cutOnAnswerTo("run_create");
    const run = await caller.client.runs.create(body, { idempotencyKey: null });
    await cut;
    expect(await runsInDatabase()).toEqual([{ id: run.runId, status: "succeeded" }]);
    expect(await findFaults(direct)).toEqual([]);
  });

  test("with the response to a finish: the end is written once, and charged once", async () => {
    const cut = proxy.cutOnAnswerTo("run_finish");
    const run = await caller.client.runs.create(body, { idempotencyKey: null });
    await cut;
    expect(run.runStatus).toBe("succeeded");
    expect(await findFaults(direct)).toEqual([]);
  });

  test("before or after the commit of a finish: the end is written once, and charged once", async () => {
    for (const point of ["finish.before_commit", "finish.after_commit"] as const) {
      const run = await withCutAt(point, () => caller.client.runs.create(body, { idempotencyKey: null }));
      expect(run.runStatus).toBe("succeeded");
    }
    expect(await findFaults(direct)).toEqual([]);
  });

  test("with the response to a claim: the claimed runs are found and released, although their worker lives", async () => {
    const api = await startTestServer({ role: "api", environment: { ...ENVIRONMENT, DATABASE_URL: proxy.url } });
    await server.app.close(); // its worker would take the run
    try {
      const client = server.clientOf(caller.apiKey, api.url);
      const { runId } = await client.runs.create(body, { respondAsync: true });
      const cut = proxy.cutOnAnswerTo("run_claim");
      // With this lease no sweep releases anything during the test.
      const worker = await api.startAnother("worker", { PROMPTD_LEASE_MS: "60000" });
      await cut;
      await until(async () => (await runsInDatabase()).some((run) => run.id === runId && run.status === "succeeded"));
      const [row] = await direct.query("select attempt, max_attempts from runs");
      expect(row).toEqual({ attempt: 2, max_attempts: 4 });
      await worker.close();
    } finally {
      await api.close();
    }
  });

  test("with the response to a worker's registration: it continues under the id that it wrote, and works", async () => {
    const cut = proxy.cutOnAnswerTo("insert into workers");
    await direct.query("delete from workers"); // as a sweep would: the next heartbeat reports it, and it registers anew
    await cut;
    const run = await caller.client.runs.create(body);
    expect(run.runStatus).toBe("succeeded");
    expect(await findFaults(direct)).toEqual([]);
  });

  test("again and again costs the current run no attempt: it ends as if nothing had happened", async () => {
    const { promptVersionId } = await server.publish(CHAIN);
    const cutEach = async () => {
      for (const _ of ["first", "second", "third", "and once more than a run has attempts"]) {
        await proxy.cutOnAnswerTo("insert into run_steps");
      }
    };
    const cuts = cutEach(); // the run may begin, and be cut off, before its create is answered
    const { runId } = await caller.client.runs.create({ ...body, promptVersionId }, { respondAsync: true });
    await cuts;
    await untilAllFinal();
    expect(await caller.client.runs.get(runId)).toMatchObject({ runStatus: "succeeded" });
    expect(await findFaults(direct)).toEqual([]);
  });

  test("every 30 ms under load: every response follows the specification, every run ends, and the ledger is exact", async () => {
    let cuts = 0;
    const cutting = setInterval(() => {
      cuts += proxy.connections;
      proxy.cut();
    }, 30);
    const outcomes = await createMany((i) => `sandbox: delay=${(i % 6) * 50}\n${i}`);
    clearInterval(cutting);
    expect(cuts).toBeGreaterThan(0);
    expect(outcomes.filter((outcome) => !KNOWN_OUTCOMES.includes(outcome))).toEqual([]);
    await untilAllFinal();
    const failed = await direct.query<{ outputs: unknown[]; credits: number }>(
      "select outputs, credits from runs where status = 'failed'",
    );
    for (const { outputs, credits } of failed) {
      expect(credits).toBe(0);
      expect([[SENT_TOO_OFTEN], [LOST_TOO_OFTEN]]).toContainEqual(outputs);
    }
    await expectSound();
  });
});

describe("a database that is full or overloaded", () => {
  test("and refuses some of the writes of a run is retried: nothing is paid for twice", async () => {
    const { promptVersionId } = await server.publish(CHAIN);
    await direct.query("create sequence refusals"); // a rollback does not take its numbers back
    await direct.query(`create function refuse_every_other() returns trigger language plpgsql as $$ begin
      if nextval('refusals') % 2 = 1 then raise exception 'the disk is full' using errcode = 'disk_full'; end if;
      return new;
    end $$`);
    await direct.query(
      "create trigger r before insert on run_steps for each row execute function refuse_every_other()",
    );
    const { runId } = await caller.client.runs.create({ ...body, promptVersionId }, { respondAsync: true });
    await untilAllFinal();
    expect(await caller.client.runs.get(runId)).toMatchObject({ runStatus: "succeeded" });
    expect(await direct.query("select step, count(*)::int as sends from provider_calls group by 1 order by 1")).toEqual(
      STEPS.map((_, step) => ({ step, sends: 1 })),
    );
  });

  test("costs a run no attempt, however often its statements time out", async () => {
    const { promptVersionId } = await server.publish(CHAIN);
    const { runId } = await direct.tx(async (tx) => {
      await tx.query("lock table run_steps"); // reading what earlier attempts delivered waits for it
      const run = await caller.client.runs.create({ ...body, promptVersionId }, { respondAsync: true });
      for (let given = 0; given < STEPS.length; given += 1) {
        const waiting = `select pid from pg_locks
          where not granted and relation = 'run_steps'::regclass and ${IN_THIS_DATABASE}`;
        await until(async () => (await tx.query(waiting)).length === 1);
        await tx.query(`select pg_cancel_backend(pid) from (${waiting}) w`);
        await until(async () => (await tx.query(waiting)).length === 0);
      }
      return run;
    });
    await untilAllFinal();
    expect(await caller.client.runs.get(runId)).toMatchObject({ runStatus: "succeeded" });
    expect(await findFaults(direct)).toEqual([]);
  });
});

describe("a database that does not respond at all", () => {
  test("gives every request a 500 within seconds, makes /readyz fail, and is forgotten when it is back", async () => {
    const running = caller.client.runs.createAndWait(
      { ...body, inputs: { textInputs: { ask: "sandbox: delay=1000\nslow" } } },
      { idempotencyKey: "k" },
    );
    await until(async () => (await direct.query("select 1 from runs where worker is not null")).length === 1);
    proxy.blackhole(true);
    const startMs = performance.now();
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, () => caller.client.me.get().catch((error: unknown) => error)),
      fetch(`${server.url}/readyz`),
    ]);
    expect(performance.now() - startMs).toBeLessThan(LATEST_ANSWER_MS);
    for (const answer of answers.slice(0, 20)) expect(answer).toMatchObject({ code: "SERVER_ERROR", httpStatus: 500 });
    expect(answers[20]).toMatchObject({ status: 500 });
    proxy.blackhole(false);
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
    expect((await running).runStatus).toBe("succeeded");
    expect((await caller.client.me.get()).userFlags).toBeGreaterThanOrEqual(0);
    await untilAllFinal();
    expect(await findFaults(direct)).toEqual([]);
  });

  test("gives many creates that wait for their account a 500 within seconds, and not one after another", async () => {
    const unlock = await lockAccount(caller.accountId);
    const sent = Array.from({ length: 24 }, () => caller.client.runs.create(body, { respondAsync: true }));
    const answers = Promise.allSettled(sent);
    // A statement waits 200 ms for the lock: after two of them all creates have reached the account, and most wait
    // outside.
    const waiting = new Set<string>();
    await until(async () => {
      for (const { since } of await direct.query<{ since: string }>(WAITS_FOR_LOCK)) waiting.add(since);
      return waiting.size > 6;
    });
    proxy.blackhole(true);
    const startMs = performance.now();
    const settled = await answers;
    const tookMs = performance.now() - startMs;
    proxy.blackhole(false);
    await unlock();
    for (const answer of settled) expect(answer).toMatchObject({ reason: { code: "SERVER_ERROR" } });
    expect(tookMs).toBeLessThan(LATEST_CREATE_MS);
    await expectSound();
  });

  test("makes a worker drop its runs before their lease ends, and claim them again afterwards", async () => {
    const creating = caller.client.runs.createAndWait(
      { ...body, inputs: { textInputs: { ask: "sandbox: delay=2500\nslow" } } },
      { idempotencyKey: "k" },
    );
    await until(async () => (await direct.query("select 1 from runs where worker is not null")).length === 1);
    const [before] = await direct.query<{ id: string }>("select id from workers");
    proxy.blackhole(true);
    // The lease ends, and nobody can tell the worker.
    await until(
      async () =>
        (await direct.query("select 1 from workers where heartbeat_at < promptd_now() - interval '2 s'")).length === 1,
    );
    proxy.blackhole(false);
    await until(async () => (await direct.query("select 1 from workers where id <> $1", [before?.id])).length === 1);
    expect((await creating).runStatus).toBe("succeeded");
    const [row] = await direct.query<{ attempt: number }>("select attempt from runs");
    expect(row?.attempt).toBeGreaterThanOrEqual(2); // a machine busy for a whole lease loses it once more
    expect(await findFaults(direct)).toEqual([]);
  });
});

describe("lost notifications", () => {
  test("cost a waiting caller of another process no response: claim and end are found by polling", async () => {
    enableFaults("notify.send:skip");
    const worker = await server.startAnother("worker");
    await worker.close(); // a start and an end without notifications cause no trouble either
    const api = await server.startAnother("api");
    const client = server.clientOf(caller.apiKey, api.listenUrl ?? "");
    // Without either poll the wait ends after its 20 s with 504.
    expect((await client.runs.create(body)).runStatus).toBe("succeeded");
  });

  test("of a listener that was cut off are made up for when it is back", async () => {
    await until(async () => (await listenerOf()) !== null);
    const old = await listenerOf();
    await direct.query("select pg_terminate_backend($1)", [old]);
    await until(async () => ![old, null].includes(await listenerOf()));
    expect((await caller.client.runs.create(body)).runStatus).toBe("succeeded");
  });
});

test("backends that are terminated at random cost no run and no credit", async () => {
  let terminated = 0;
  const killing = setInterval(() => {
    void direct
      .query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and application_name not like '%:test%'
         order by random() limit 1`,
      )
      .then((rows) => (terminated += rows.length))
      .catch(() => {});
  }, 25);
  const outcomes = await createMany((i) => `sandbox: delay=${(i % 5) * 60}\n${i}`);
  clearInterval(killing);
  expect(terminated).toBeGreaterThan(0);
  expect(outcomes.filter((outcome) => !KNOWN_OUTCOMES.includes(outcome))).toEqual([]);
  await expectSound();
});
