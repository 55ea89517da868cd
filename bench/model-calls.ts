/**
 * Model calls in flight in one worker: 2,000 calls, each answered after 5 s by a server in a process of its own.
 * Reports how long all of them took, CPU and memory per call, without and with an input image of 1 MB, and writes it to
 * bench/results/model-calls.json.
 * node --expose-gc --conditions=promptd-source bench/model-calls.ts [calls]
 */
import { fork } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { AddressInfo } from "node:net";
import { createSpool } from "../packages/server/src/files/blobs/spool.ts";
import { createModelCaller } from "../packages/server/src/models/calls/call-model.ts";
import { loadCatalogue } from "../packages/server/src/models/catalogue/catalogue.ts";
import type { ModelImage } from "../packages/server/src/models/ai-sdk/model-adapter.ts";
import { openAdapter } from "../packages/server/src/models/ai-sdk/open-adapter.ts";
import { isoTime, systemClock } from "../packages/server/src/platform/clock.ts";
import { openDatabase } from "../packages/server/src/platform/database/database.ts";
import { startEmbeddedPostgres } from "../packages/server/src/platform/embedded/supervise.ts";
import { createLog } from "../packages/server/src/platform/log.ts";
import { migrate } from "../packages/server/src/platform/database/migrate.ts";
import type { ModelCaller } from "../packages/server/src/models/calls/model-request.ts";

const ANSWER_MS = 5_000;

if (process.argv[2] === "provider") serveProvider();
else await measure(Number(process.argv[2] ?? 2_000));

function serveProvider(): void {
  const answer = JSON.stringify({
    id: "chat-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 250, completion_tokens: 1, total_tokens: 251 },
  });
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end(answer), ANSWER_MS);
    });
  });
  server.listen({ host: "127.0.0.1", port: 0, backlog: 4_096 }, () => {
    process.send?.((server.address() as AddressInfo).port);
  });
  process.once("disconnect", () => process.exit());
}

async function measure(calls: number): Promise<void> {
  const log = createLog("error");
  const loadBefore = Math.round((loadavg()[0] ?? 0) * 10) / 10;
  const dataDir = await mkdtemp(join(tmpdir(), "promptd-bench-"));
  const provider = fork(import.meta.filename, ["provider"]);
  const [port] = (await once(provider, "message")) as [number];
  const postgres = await startEmbeddedPostgres({ dataDir, log });
  await migrate(postgres.url, log);
  const db = await openDatabase({ url: postgres.url, role: "bench", log });
  const overlayFile = join(dataDir, "models.json");
  await writeFile(overlayFile, JSON.stringify(overlay(port)));
  const catalogue = loadCatalogue({ overlayFile, hasSecret: () => false, sandbox: true });
  const inflightBytesMax = 8 * 1_073_741_824;
  const spool = createSpool(join(dataDir, "spool"));
  const adapter = await openAdapter({ catalogue, clock: systemClock, log, secret: () => null, spool });
  const caller = createModelCaller({
    catalogue,
    db,
    log,
    adapter,
    inflightBytesMax,
    adaptRuns: async (_model, { from }) => from,
  });
  const image: ModelImage = { bytes: randomBytes(1_048_576), mediaType: "image/jpeg" };
  const results = [];
  for (const [name, count, images] of [
    ["text", calls, []],
    ["text with an image of 1 MB", Math.min(calls, 200), [image]],
  ] as const) {
    results.push({ name, ...(await flight(caller, count, images)) });
  }
  const [cpu] = cpus();
  const machine = { node: process.version, cpu: cpu?.model ?? "unknown", cores: cpus().length, loadBefore };
  const text = JSON.stringify(
    { date: isoTime(systemClock.nowMs()), ...machine, answerMs: ANSWER_MS, results },
    null,
    2,
  );
  console.log(text);
  await writeFile(join(import.meta.dirname, "results", "model-calls.json"), `${text}\n`);
  await caller.close();
  await db.close();
  await postgres.stop();
  provider.disconnect();
  await rm(dataDir, { recursive: true, force: true });
}

function overlay(port: number) {
  const limits = { maxOutputTokens: 100, contextTokens: 100_000, timeoutMs: 60_000, concurrency: 100_000 };
  const images = { max: 1, bytes: 10_485_760, maxSide: 2_048, tokens: 85 };
  const model = { index: 10_000, model: "slow/m", provider: "slow", providerModel: "m", api: "chat", modality: "text" };
  return {
    formatVersion: 1,
    providers: { slow: { baseURL: `http://127.0.0.1:${port}/v1` } },
    models: [{ ...model, price: {}, inputs: { images }, limits }],
  };
}

/** All calls are made at once; none may fail. */
async function flight(caller: ModelCaller, count: number, images: readonly ModelImage[]) {
  const call = () =>
    caller.call(
      {
        accountId: randomUUID(),
        runId: randomUUID(),
        attempt: 1,
        step: 0,
        item: 0,
        model: "slow/m",
        authorsText: null,
        options: {},
        instructions: "",
        prompt: "x".repeat(1_000),
        images,
        maxOutputTokens: null,
        deadlineMs: performance.now() + 60_000,
      },
      new AbortController().signal,
    );
  await call(); // warm
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const cpuBefore = process.cpuUsage();
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50);
  const begun = performance.now();
  const outcomes = await Promise.all(Array.from({ length: count }, call));
  const totalMs = Math.round(performance.now() - begun);
  clearInterval(watch);
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    calls: count,
    succeeded: outcomes.filter((outcome) => outcome.kind === "text").length,
    totalMs,
    rssPerCallKb: Math.round((peak - before) / count / 1_024),
    cpuMsPerCall: Math.round((user + system) / count) / 1_000,
  };
}
