/**
 * Model calls in flight in one worker: 2,000 calls, each answered after 5 s by a server in a separate process.
 * Reports the total time, and CPU and memory per call, with and without a 1 MB input image.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSpool } from "../../packages/server/src/files/blobs/spool.ts";
import { createModelCaller } from "../../packages/server/src/models/calls/call-model.ts";
import { loadCatalogue } from "../../packages/server/src/models/catalogue/catalogue.ts";
import type { ModelImage } from "../../packages/server/src/models/providers/jobs.ts";
import { openAdapter } from "../../packages/server/src/models/ai-sdk/open-adapter.ts";
import { systemClock } from "../../packages/server/src/platform/clock.ts";
import { openDatabase } from "../../packages/server/src/platform/database/database.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";
import type { ModelCaller } from "../../packages/server/src/models/calls/model-request.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase } from "../harness/bench-case.ts";
import { MOCK_ENTRY, startMockModels, writeOverlay } from "../harness/mock-provider.ts";
import { onDatabase } from "../harness/on-database.ts";

const ANSWER_MS = 5_000;

export const modelCalls = defineCase({
  sizes: { calls: [2_000, 50] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes.calls)),
});

async function measure(server: ChaosDatabase, calls: number) {
  const log = createLog("error", "stderr");
  const dataDir = await mkdtemp(join(tmpdir(), "promptd-bench-"));
  const provider = await startMockModels({ delayMs: ANSWER_MS });
  const db = await openDatabase({ url: server.url, role: "bench", log });
  const overlayFile = join(dataDir, "models.json");
  writeOverlay(overlayFile, provider.url);
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
  await caller.close();
  await db.close();
  await provider.stop();
  await rm(dataDir, { recursive: true, force: true });
  return { answerMs: ANSWER_MS, results };
}

/** Makes all calls at once. None may fail. */
async function flight(caller: ModelCaller, count: number, images: readonly ModelImage[]) {
  const call = () =>
    caller.call(
      {
        accountId: randomUUID(),
        runId: randomUUID(),
        attempt: 1,
        step: 0,
        item: 0,
        model: MOCK_ENTRY,
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
  await call(); // warm up
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
