/**
 * Ten thousand requests that wait for their runs in one API process: memory of each, how fast an end wakes one of them,
 * and how long SIGTERM takes to answer them all.
 *
 *   node --conditions=promptd-source bench/waiting-10k.ts [--waits 10000] [--hold-seconds 120] [--wakes 300]
 *
 * Needs `ulimit -n` above the number of waits. Prints one JSON line and writes it to bench/results/.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createLog } from "../packages/server/src/platform/log.ts";
import { migrate } from "../packages/server/src/platform/migrate.ts";
import { openInstallationFixture } from "../packages/server/test/installation-fixture.ts";
import { killLeftovers } from "../packages/server/test/promptd-process.ts";
import { startChaosDatabase } from "./chaos/database-server.ts";

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

interface Answer {
  readonly status: number | null;
  readonly body: string;
  readonly atMs: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
const home = mkdtempSync(join(tmpdir(), "promptd-waiting-"));
const server = await startChaosDatabase("embedded", home);
try {
  await migrate(server.url, createLog("silent", "stderr"));
  const line = await measure();
  mkdirSync(join(import.meta.dirname, "results"), { recursive: true });
  writeFileSync(values.out, `${JSON.stringify(line)}\n`);
  console.log(JSON.stringify(line));
} finally {
  await killLeftovers();
  await server.stop();
  rmSync(home, { recursive: true, force: true });
}

async function measure() {
  const fixture = await openInstallationFixture(server.url, {
    PROMPTD_SYNC_WAIT_MS: "600000",
    PROMPTD_ACTIVE_RUNS_MAX: "1000000",
    PROMPTD_OPEN_REQUESTS_MAX: "100000",
  });
  const caller = await fixture.createCaller();
  const api = await fixture.start("api");
  const body = JSON.stringify({ promptVersionId: fixture.prompts.free, inputs: { textInputs: { ask: "x" } } });
  const headers = { authorization: `Bearer ${caller.apiKey}`, "content-type": "application/json" };
  const send = (path: string, text: string) => post(`${api.url}${path}`, headers, text);
  // What a process grows by once (compiled code, pools) is no waiter's: as many requests first that do not wait.
  for (let i = 0; i < WARM_REQUESTS; i += CREATES_AT_ONCE) {
    await Promise.all(Array.from({ length: CREATES_AT_ONCE }, () => send("/v1/runs", "{}")));
  }
  const rssBefore = rssOf(api.pid);
  const answers: Promise<Answer>[] = [];
  for (let begun = 0; begun < WAITS; begun += CREATES_AT_ONCE) {
    for (let i = 0; i < CREATES_AT_ONCE && answers.length < WAITS; i += 1) answers.push(send("/v1/runs", body));
    await untilRuns(answers.length);
  }
  await wait(Number(values["hold-seconds"]) * 1_000);
  const bytesPerWait = Math.round((rssOf(api.pid) - rssBefore) / WAITS);

  const wakes: number[] = [];
  const rows = await fixture.db.query<{ id: string }>("select id from runs order by id limit $1", [
    Number(values.wakes),
  ]);
  const byRun = new Map<string, (atMs: number) => void>();
  for (const answer of answers) {
    void answer.then(({ body: text, atMs }) => byRun.get(/"runId":"([^"]+)"/.exec(text)?.[1] ?? "")?.(atMs));
  }
  for (const { id } of rows) {
    const { promise, resolve } = Promise.withResolvers<number>();
    byRun.set(id, resolve);
    const canceled = await send(`/v1/runs/${id}/cancel`, ""); // the end is committed before this answer
    wakes.push(Math.max(0, (await promise) - canceled.atMs));
  }
  wakes.sort((a, b) => a - b);

  const termMs = performance.now();
  const exit = await api.stop();
  const all = await Promise.all(answers);
  const drainMs = Math.round(Math.max(...all.map((answer) => answer.atMs)) - termMs);
  await fixture.close();
  return {
    waits: WAITS,
    heldSeconds: Number(values["hold-seconds"]),
    bytesPerWait,
    wakeMs: { p50: round(wakes[Math.floor(wakes.length / 2)]), p99: round(wakes[Math.floor(wakes.length * 0.99)]) },
    sigterm: {
      answered504: all.filter((answer) => answer.status === 504 && answer.body.includes('"runId"')).length,
      answered200: all.filter((answer) => answer.status === 200).length,
      reset: all.filter((answer) => answer.status === null).length,
      ms: drainMs,
      exitCode: exit.code,
    },
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "?"}`,
    node: process.version,
    at: new Date().toISOString(),
  };

  async function untilRuns(count: number): Promise<void> {
    for (;;) {
      const [row] = await fixture.db.query<{ n: number }>("select count(*)::int as n from runs");
      if ((row?.n ?? 0) >= count) return;
      await wait(5);
    }
  }
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
