/** Real processes, killed and stopped during runs. */
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient, type Client } from "@promptd/client";
import { createDataDir, readServerPid, isServerAlive, cleanUp } from "../platform/embedded-process.ts";
import { killLeftovers, runCommand, startPromptd, until } from "../support/promptd-process.ts";
import { useInstallation } from "../support/use-installation.ts";

const installation = useInstallation();

const ask = (text: string) => ({ inputs: { textInputs: { ask: text } } });

/** What a caller knows about a request without a response: nothing. */
function create(client: Client, promptVersionId: string, text: string, idempotencyKey: string) {
  return client.runs.create({ promptVersionId, ...ask(text) }, { idempotencyKey });
}

async function countRuns(where: string): Promise<number> {
  const [row] = await installation().db.query<{ n: number }>(`select count(*)::int as n from runs where ${where}`);
  return row?.n ?? 0;
}

describe("kill -9 of a server with a hundred waiting runs, then a restart", () => {
  test("ends every run, creates none twice, charges none twice, and leaves no hold", async () => {
    const fixture = installation();
    const caller = await fixture.createCaller();
    const lease = { PROMPTD_LEASE_MS: "3000" }; // a hundred processes starting at once must not cost the living one its runs
    const first = await fixture.start("all", lease);
    const keys = Array.from({ length: 100 }, (_, i) => `run-${i}`);
    const textOf = (i: number) => `sandbox: delay=${300 + 40 * i} tokens=900\nWrite something.`;
    const calls = keys.map((key, i) => create(caller.clientAt(first.url), fixture.prompts.paid, textOf(i), key));
    const settled = Promise.allSettled(calls);
    await until(async () => (await countRuns("true")) === 100 && (await countRuns("finished_at is not null")) >= 20);
    await first.kill();
    const answered = (await settled).filter((call) => call.status === "fulfilled").map((call) => call.value.runId);
    expect(answered.length).toBeLessThan(100);

    const second = await fixture.start("all", lease);
    const repeated = await Promise.all(
      keys.map((key, i) => create(caller.clientAt(second.url), fixture.prompts.paid, textOf(i), key)),
    );
    const failures = "select fail_reason, attempt, count(*)::int as n from runs where status = 'failed' group by 1, 2";
    expect(await fixture.db.query(failures)).toEqual([]);
    expect(repeated.map((run) => run.runStatus)).toEqual(keys.map(() => "succeeded"));
    expect(new Set(repeated.map((run) => run.runId)).size).toBe(100);
    expect(repeated.map((run) => run.runId)).toEqual(expect.arrayContaining(answered));
    expect(await countRuns("true")).toBe(100);
    expect(await countRuns("attempt > 1")).toBeGreaterThan(0);
    expect(await fixture.findFaults()).toEqual([]);
    expect((await second.stop()).code).toBe(0);
  });

  test("claims the runs of a dead worker again within ten seconds of its death, with the default lease", async () => {
    const fixture = installation();
    const changes = { PROMPTD_LEASE_MS: "6000" };
    const caller = await fixture.createCaller();
    const api = await fixture.startHere("api", changes);
    const workers = [await fixture.start("worker", changes), await fixture.start("worker", changes)];
    // The survivor judges others only after a lease of good heartbeats of its own; the installation has been up that
    // long.
    await until(
      async () =>
        (await fixture.db.query("select 1 from workers where heartbeat_at > started_at + interval '6.1 s'")).length ===
        2,
    );
    const runs = Array.from({ length: 20 }, (_, i) =>
      create(caller.clientAt(api.url), fixture.prompts.paid, "sandbox: delay=15000\nslow", `run-${i}`),
    );
    await until(async () => (await countRuns("attempt = 1")) === 20);
    // One of the two may have claimed all of them.
    const [most] = await fixture.db.query<{ pid: number; taken: number }>(
      `select w.os_pid as pid, count(*)::int as taken from workers w join runs r on r.worker = w.id
       group by w.id order by taken desc limit 1`,
    );
    const { pid, taken } = most ?? { pid: 0, taken: 0 };
    expect(taken).toBeGreaterThan(0);
    const killedMs = performance.now();
    await workers.find((worker) => worker.pid === pid)?.kill();
    await until(async () => (await countRuns("attempt = 2")) === taken);
    expect(performance.now() - killedMs).toBeLessThan(10_000);
    await Promise.all(runs);
    expect(await fixture.findFaults()).toEqual([]);
    await workers.find((worker) => worker.pid !== pid)?.stop();
  });
});

describe("a worker that is stopped and wakes up later", () => {
  test("changes nothing: its runs went to another worker and are charged once", async () => {
    const fixture = installation();
    const caller = await fixture.createCaller();
    const api = await fixture.startHere("api");
    const lease = { PROMPTD_LEASE_MS: "3000" }; // of the living worker: a busy machine must not cost it its runs too
    const zombie = await fixture.start("worker", lease);
    const runs = Array.from({ length: 10 }, (_, i) =>
      create(caller.clientAt(api.url), fixture.prompts.paid, "sandbox: delay=2500\nslow", `run-${i}`),
    );
    await until(async () => (await countRuns("attempt = 1")) === 10);
    zombie.signal("SIGSTOP");
    await fixture.expireLeases();
    const other = await fixture.startHere("worker", lease);
    await until(async () => (await countRuns("attempt = 2")) === 10);
    zombie.signal("SIGCONT");
    const ended = await Promise.all(runs);
    expect(ended.map((run) => run.runStatus)).toEqual(Array(10).fill("succeeded"));
    expect(await countRuns("attempt = 2 and credits = 1")).toBe(10);
    expect(await fixture.findFaults()).toEqual([]);
    // The zombie has noticed, and continues under a new id.
    await until(
      async () => (await fixture.db.query("select 1 from workers where os_pid = $1", [zombie.pid])).length === 1,
    );
    await Promise.all([zombie.stop(), other.close()]);
    expect(await fixture.db.query("select id from workers")).toEqual([]);
  });
});

describe("several processes on one database", () => {
  test("end a thousand runs created at once by fifty accounts, with the ledger exact", async () => {
    const fixture = installation();
    const callers = await Promise.all(Array.from({ length: 50 }, () => fixture.createCaller(10_000)));
    const [api, another] = await Promise.all([fixture.start("api"), fixture.start("api")]);
    const workers = await Promise.all([fixture.start("worker"), fixture.start("worker")]);
    const words = ["tokens=900", "tokens=10", "error=400", "refuse", "tokens=200", "delay=300 tokens=500"];
    const created = callers.flatMap((caller, c) =>
      Array.from({ length: 20 }, (_, i) =>
        caller.clientAt(i % 2 === 0 ? api.url : another.url).runs.create(
          {
            promptVersionId: i % 5 === 4 ? fixture.prompts.free : fixture.prompts.paid,
            ...ask(`sandbox: ${words[(c + i) % words.length]}\nrun ${c}.${i}`),
          },
          { respondAsync: true, idempotencyKey: null },
        ),
      ),
    );
    const runs = await Promise.all(created);
    expect(new Set(runs.map((run) => run.runId)).size).toBe(1_000);
    await until(async () => (await fixture.openRuns()) === 0);
    expect(await countRuns("status = 'succeeded'")).toBeGreaterThan(500);
    expect(await countRuns("status = 'failed'")).toBeGreaterThan(100);
    expect(await fixture.findFaults()).toEqual([]);
    const check = await runCommand(["admin", "ledger", "check"], fixture.environment);
    expect(check).toMatchObject({ code: 0, result: { accounts: 50, mismatches: [] } });
    const exits = await Promise.all([api, another, ...workers].map((one) => one.stop()));
    expect(exits.map((exit) => exit.code)).toEqual([0, 0, 0, 0]);
  });
});

describe("the embedded installation", () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await createDataDir();
  });
  afterAll(async () => {
    await killLeftovers();
    await cleanUp();
    await rm(dataDir, { recursive: true, force: true });
  });

  test("keeps the data of the first start for the second, ends runs that a kill -9 interrupted, and leaves no server behind", async () => {
    const environment = {
      PROMPTD_DATA_DIR: dataDir,
      PROMPTD_SEED: "on",
      PROMPTD_LOG_LEVEL: "warn",
      PROMPTD_RATE_LIMIT_PER_SECOND: "1000",
    };
    const first = await startPromptd({ environment });
    const user = await runCommand(
      ["admin", "user", "create", "--email", "ada@example.org", "--credits", "500"],
      environment,
    );
    expect(user).toMatchObject({ code: 0, result: { credits: 500 } });
    const key = await runCommand(["admin", "key", "create", "--user", "ada@example.org"], environment);
    const { apiKey } = key.result as { apiKey: string };
    const clientAt = (baseUrl: string) => createClient({ baseUrl, apiKey, maxRetries: 0 });
    const found = await clientAt(first.url).prompts.search("email");
    expect(found.rows.length).toBeGreaterThan(0);
    expect(await clientAt(first.url).me.credits()).toEqual({ credits: 500 });
    await first.kill();
    const second = await startPromptd({ environment });
    expect(await clientAt(second.url).me.credits()).toEqual({ credits: 500 });
    expect((await clientAt(second.url).prompts.search("email")).rows).toHaveLength(found.rows.length);
    const server = await readServerPid(dataDir);
    expect((await second.stop()).code).toBe(0);
    expect(server === null ? false : await isServerAlive(server)).toBe(false);
  });
});
