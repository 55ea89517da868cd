/**
 * Ten thousand requests that wait for their runs in one API process: memory of each, beside what node:http alone takes
 * for as many; how fast an end wakes one of them; and how long SIGTERM takes to answer them all.
 *
 *   node --conditions=promptd-source bench/waiting-10k.ts [--waits 10000] [--hold-seconds 120] [--wakes 300]
 *
 * Needs `ulimit -n` above the number of waits. Prints one JSON line and writes it to bench/results/.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { openInstallationFixture } from "../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "./chaos/database-server.ts";
import { describeMeasurement } from "./commit.ts";
import { measureOnDatabase } from "./measure-on-database.ts";

const { values } = parseArgs({
  options: {
    waits: { type: "string", default: "10000" },
    "hold-seconds": { type: "string", default: "120" },
    wakes: { type: "string", default: "300" },
    out: { type: "string", default: join(import.meta.dirname, "results", "waiting.json") },
  },
});
const WAITS = Number(values.waits);
const CREATES_AT_ONCE = 64;
const WARM_REQUESTS = 3_000;
/** Without requests, before memory is looked at: what was garbage is collected by then, before as well as after. */
const QUIET_MS = 30_000;

interface Answer {
  readonly status: number | null;
  readonly body: string;
  readonly atMs: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
await measureOnDatabase("embedded", values.out, measure);

async function measure(server: ChaosDatabase) {
  const fixture = await openInstallationFixture(server.url, {
    PROMPTD_SYNC_WAIT_MS: "600000",
    PROMPTD_ACTIVE_RUNS_MAX: "1000000",
    PROMPTD_OPEN_REQUESTS_MAX: "100000",
  });
  const caller = await fixture.createCaller();
  const body = JSON.stringify({ promptVersionId: fixture.prompts.free, inputs: { textInputs: { ask: "x" } } });
  const headers = { authorization: `Bearer ${caller.apiKey}`, "content-type": "application/json" };
  const floor = await measureFloor(headers, body);
  const api = await fixture.start("api");
  const send = (path: string, text: string) => post(`${api.url}${path}`, headers, text);
  // What a process grows by once (compiled code, pools) is no waiter's. Few and small requests, and none that leaves
  // memory behind: after ten thousand creates a process holds so much free memory that waiters seem to need none.
  await inBatches(WARM_REQUESTS, async (count) => {
    await Promise.all(Array.from({ length: count }, () => send("/v1/runs", "{}")));
  });
  await wait(QUIET_MS);
  const rssBefore = rssOf(api.pid);
  const answers: Promise<Answer>[] = [];
  await inBatches(WAITS, async (count) => {
    for (let i = 0; i < count; i += 1) answers.push(send("/v1/runs", body));
    await untilRuns(answers.length);
  });
  await wait(Number(values["hold-seconds"]) * 1_000);
  const rssAfter = rssOf(api.pid);
  const bytesPerWait = Math.round((rssAfter - rssBefore) / WAITS);

  const rows = await fixture.db.query<{ id: string }>("select id from runs order by id desc limit $1", [
    Number(values.wakes),
  ]);
  const cancel = (runId: string) => send(`/v1/runs/${runId}/cancel`, "");
  const wakeMs = await wakeEach(
    rows.map(({ id }) => id),
    answers,
    cancel,
  );

  const termMs = performance.now();
  const exit = await api.stop();
  const all = await Promise.all(answers);
  const drainMs = Math.round(Math.max(...all.map((answer) => answer.atMs)) - termMs);
  await fixture.close();
  return {
    waits: WAITS,
    heldSeconds: Number(values["hold-seconds"]),
    bytesPerWait,
    bareNodeHttp: { bytesPerWait: floor, ratio: round(bytesPerWait / floor) },
    rssMiB: { before: Math.round(rssBefore / 2 ** 20), after: Math.round(rssAfter / 2 ** 20) },
    wakeMs,
    sigterm: {
      answered504: all.filter((answer) => answer.status === 504 && answer.body.includes('"runId"')).length,
      answered200: all.filter((answer) => answer.status === 200).length,
      reset: all.filter((answer) => answer.status === null).length,
      ms: drainMs,
      exitCode: exit.code,
    },
    ...describeMeasurement(),
  };

  async function untilRuns(count: number): Promise<void> {
    for (;;) {
      const [row] = await fixture.db.query<{ n: number }>("select count(*)::int as n from runs");
      if ((row?.n ?? 0) >= count) return;
      await wait(5);
    }
  }
}

/** Ends runs one by one. Milliseconds from the answer to the cancel, which follows the commit, to the waiter's own. */
async function wakeEach(
  runIds: readonly string[],
  answers: readonly Promise<Answer>[],
  cancel: (runId: string) => Promise<Answer>,
) {
  const byRun = new Map<string, (atMs: number) => void>();
  for (const answer of answers) {
    void answer.then(({ body, atMs }) => byRun.get(/"runId":"([^"]+)"/.exec(body)?.[1] ?? "")?.(atMs));
  }
  const wakes: number[] = [];
  for (const runId of runIds) {
    const { promise, resolve } = Promise.withResolvers<number>();
    byRun.set(runId, resolve);
    const canceled = await cancel(runId);
    wakes.push(Math.max(0, (await promise) - canceled.atMs));
  }
  wakes.sort((a, b) => a - b);
  return { p50: round(wakes[Math.floor(wakes.length / 2)]), p99: round(wakes[Math.floor(wakes.length * 0.99)]) };
}

async function inBatches(total: number, work: (count: number) => Promise<void>): Promise<void> {
  for (let done = 0; done < total; done += CREATES_AT_ONCE) await work(Math.min(CREATES_AT_ONCE, total - done));
}

/** Bytes per request that a bare server holds, measured the same way. */
async function measureFloor(headers: Readonly<Record<string, string>>, body: string): Promise<number> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "waiting-floor.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = line.toString().trim();
  const batch = (path: string, count: number) =>
    Array.from({ length: count }, () => post(`${url}${path}`, headers, body));
  await inBatches(WARM_REQUESTS, async (count) => void (await Promise.all(batch("/", count))));
  await wait(QUIET_MS);
  const before = rssOf(child.pid ?? 0);
  const held: Promise<Answer>[] = [];
  await inBatches(WAITS, async (count) => {
    held.push(...batch("/hold", count));
    await post(`${url}/`, headers, body); // those before it have arrived by now
  });
  await wait(QUIET_MS);
  const bytes = (rssOf(child.pid ?? 0) - before) / WAITS;
  child.kill("SIGTERM");
  await Promise.all(held);
  return Math.round(bytes);
}

function post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const outgoing = request(url, { method: "POST", headers, agent }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    response.on("end", () => resolve({ status: response.statusCode ?? null, body: text, atMs: performance.now() }));
  });
  outgoing.on("error", (error) => resolve({ status: null, body: error.message, atMs: performance.now() }));
  outgoing.end(body);
  return promise;
}

function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1_024;
}

function round(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value * 10) / 10;
}
