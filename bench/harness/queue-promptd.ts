/**
 * promptd as a queue: creates and a complete worker in one process, without HTTP. Each job is a paid sandbox run: its
 * inputs are checked, its price is held and captured, its call is recorded, and its text is stored.
 */
import { createRunOptions, openServices } from "../../packages/server/src/app-services.ts";
import { createClosers } from "../../packages/server/src/platform/resilience/closers.ts";
import { openInstallation } from "../../packages/server/src/installation.ts";
import { openWorker } from "../../packages/server/src/open-worker.ts";
import { readConfig } from "../../packages/server/src/platform/config/config.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";
import { createRun } from "../../packages/server/src/runs/create/create-run.ts";
import type { Wait } from "../../packages/server/src/runs/wait/wait-for-run.ts";
import { serveRounds } from "./queue-rounds.ts";

const { BENCH_ACCOUNTS = "", BENCH_PROMPT = "", ...environment } = process.env;
const accounts = BENCH_ACCOUNTS.split(",");
const role = "all";
const log = createLog("error", "stderr");
const config = readConfig({ ...environment, PORT: "0", PROMPTD_LOCAL_MODELS: "off" });
const installation = await openInstallation({ config, role, log });
const closers = createClosers();
const parts = await openServices({ config, role, log }, installation, closers);
const worker = await openWorker(parts, closers);
await parts.models.announce();
await worker.start();
const options = createRunOptions(parts);
const body = { promptVersionId: BENCH_PROMPT, inputs: { textInputs: { ask: "What is a tea house?" } } };
let sent = 0;

const done = serveRounds(async (job) => {
  const accountId = accounts[sent % accounts.length] ?? "";
  sent += 1;
  const runId = parts.newId();
  const wait = parts.hub.wait({ accountId, runId, untilMs: performance.now() + 600_000 });
  void follow(wait, job);
  const request = { accountId, keyId: null, requestId: runId, runId, body, idempotency: null, ignore: () => {} };
  await createRun(request, options);
  worker.wake();
});

async function follow({ finished }: Wait, job: string): Promise<void> {
  const run = await finished;
  if (run?.runStatus !== "succeeded") throw new Error(`A run ended as ${run?.runStatus}.`);
  done(job);
}
