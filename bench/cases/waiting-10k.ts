/**
 * Ten thousand requests that wait for their runs in one API process: the memory per request, compared with node:http
 * alone; how fast a run's end wakes a request; and how long it takes to answer all of them after SIGTERM.
 *
 * Needs `ulimit -n` above the number of waits.
 */
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { residentMib } from "../harness/cpu.ts";
import { startServer } from "../harness/child-server.ts";
import { onDatabase } from "../harness/on-database.ts";

const CREATES_AT_ONCE = 64;
const WARM_REQUESTS = 3_000;

interface Answer {
  readonly status: number | null;
  readonly body: string;
  readonly atMs: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

/** `quietSeconds`: the time without requests before each memory measurement, so that garbage is collected by then. */
export const waiting = defineCase({
  sizes: { waits: [10_000, 200], holdSeconds: [120, 1], wakes: [300, 20], quietSeconds: [30, 1] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes)),
});

type Sizes = Bench<"waits" | "holdSeconds" | "wakes" | "quietSeconds">["sizes"];

async function measure(server: ChaosDatabase, sizes: Sizes) {
  const fixture = await openInstallationFixture(server.url, {
    PROMPTD_SYNC_WAIT_MS: "600000",
    PROMPTD_ACTIVE_RUNS_MAX: "1000000",
    PROMPTD_OPEN_REQUESTS_MAX: "100000",
  });
  const caller = await fixture.createCaller();
  const body = JSON.stringify({ promptVersionId: fixture.prompts.free, inputs: { textInputs: { ask: "x" } } });
  const headers = { authorization: `Bearer ${caller.apiKey}`, "content-type": "application/json" };
  const floor = await measureFloor(headers, body, sizes);
  const api = await fixture.start("api");
  const send = (path: string, text: string) => post(`${api.url}${path}`, headers, text);
  // One-time growth (compiled code, pools) must not count for waiters. Uses few and small requests that leave no memory
  // behind: after ten thousand creates, a process has so much free memory that waiters seem to need none.
  await inBatches(WARM_REQUESTS, async (count) => {
    await Promise.all(Array.from({ length: count }, () => send("/v1/runs", "{}")));
  });
  await wait(sizes.quietSeconds * 1_000);
  const rssBefore = rssOf(api.pid);
  const answers: Promise<Answer>[] = [];
  await inBatches(sizes.waits, async (count) => {
    for (let i = 0; i < count; i += 1) answers.push(send("/v1/runs", body));
    await untilRuns(answers.length);
  });
  await wait(sizes.holdSeconds * 1_000);
  const rssAfter = rssOf(api.pid);
  const bytesPerWait = Math.round((rssAfter - rssBefore) / sizes.waits);

  const rows = await fixture.db.query<{ id: string }>("select id from runs order by id desc limit $1", [sizes.wakes]);
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
    waits: sizes.waits,
    heldSeconds: sizes.holdSeconds,
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

/** Bytes per request that a bare server needs, measured the same way. */
async function measureFloor(headers: Readonly<Record<string, string>>, body: string, sizes: Sizes): Promise<number> {
  const { url, pid, stop } = await startServer({ file: join(import.meta.dirname, "../harness/bare-server.ts") });
  const batch = (path: string, count: number) =>
    Array.from({ length: count }, () => post(`${url}${path}`, headers, body));
  await inBatches(WARM_REQUESTS, async (count) => void (await Promise.all(batch("/", count))));
  await wait(sizes.quietSeconds * 1_000);
  const before = rssOf(pid);
  const held: Promise<Answer>[] = [];
  await inBatches(sizes.waits, async (count) => {
    held.push(...batch("/hold", count));
    await post(`${url}/`, headers, body); // the earlier requests have arrived by now
  });
  await wait(sizes.quietSeconds * 1_000);
  const bytes = (rssOf(pid) - before) / sizes.waits;
  await stop();
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
  return residentMib(pid) * 2 ** 20;
}

function round(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value * 10) / 10;
}
