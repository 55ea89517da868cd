/** Runs of videos, on stand-ins for the providers: their API is in this process, their workers are real ones. */
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { createAccount } from "../../src/accounts/index.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { parsePromptFile, publishPrompts } from "../../src/prompts/index.ts";
import { startProviderDouble, type ProviderDouble, type ProviderDoubleOptions } from "../providers/provider-double.ts";
import { openInstallationFixture, type InstallationFixture } from "../support/installation-fixture.ts";
import { killLeftovers } from "../support/promptd-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";

export const VIDEO_MODELS = {
  Veo: "google/veo", // as an operator's own entry: the shipped ones are retired
  fal: "fal/luma-ray-2-flash",
  Replicate: "replicate/minimax-video-01",
} as const;
/** Pictures that are made in a queue. */
export const IMAGE_MODELS = { fal: "fal/flux-schnell", Replicate: "replicate/flux-schnell" } as const;

const OVERLAY = join(import.meta.dirname, "../providers/own-models.json");

let database: TestDatabase;
export let fixture: InstallationFixture;
export let double: ProviderDouble;

/** A database for each test of a file, and no process that outlives its test. */
export function useVideoRuns(): void {
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await killLeftovers();
    await double.close();
    await fixture.close();
    await database.drop();
  });
}

interface OpenOptions extends ProviderDoubleOptions {
  readonly environment?: Readonly<Record<string, string>>;
}

export async function openVideoRuns(options: OpenOptions = {}): Promise<void> {
  double = await startProviderDouble(options);
  fixture = await openInstallationFixture(database.url, {
    PROMPTD_MODELS_FILE: OVERLAY,
    PROMPTD_LEASE_MS: "3000", // a worker on a busy machine must not count as lost: it would be another case
    GOOGLE_GENERATIVE_AI_API_KEY: "k",
    GOOGLE_GENERATIVE_AI_BASE_URL: double.url,
    FAL_API_KEY: "k",
    FAL_BASE_URL: `${double.url}/fal`,
    REPLICATE_API_TOKEN: "k",
    REPLICATE_BASE_URL: double.url,
    ...options.environment,
  });
}

async function publish(model: string): Promise<string> {
  const newId = createIdSource(systemClock);
  const catalogue = loadCatalogue({ overlayFile: OVERLAY, hasSecret: () => true, sandbox: true });
  const authorId = await createAccount(fixture.db, newId, { email: `${newId()}@example.org`, plan: "none" });
  const text = `---\npromptd: 1\ntitle: Clip\ndescription: A clip.\nmodel: ${model}\n---\nA river.\n`;
  const [published] = await publishPrompts(fixture.db, parsePromptFile(text, catalogue), {
    authorId,
    catalogue,
    newId,
  });
  if (published === undefined) throw new Error("the prompt was not published");
  return published.promptVersionId;
}

/** An API and one run that waits for a worker. @returns how to see it, as its caller does. */
export async function createVideoRun(model: string) {
  const promptVersionId = await publish(model);
  const caller = await fixture.createCaller();
  const api = await fixture.startApi();
  const { runs } = caller.clientAt(api.url);
  const { runId } = await runs.create({ promptVersionId, inputs: {} }, { respondAsync: true });
  /** However long a busy machine takes: the test's own time limit ends it. */
  const finished = async () => {
    for (;;) {
      const run = await runs.get(runId, { waitSeconds: 60 });
      if (run.runStatus === "succeeded" || run.runStatus === "failed") return run;
    }
  };
  return { apiUrl: api.url, finished, get: () => runs.get(runId), cancel: () => runs.cancel(runId) };
}

/** A worker that dies when the provider has answered to the start; it may claim before it says that it is ready. */
export async function letWorkerDie(): Promise<void> {
  const doomed = fixture.start("worker", { PROMPTD_FAULT: "call.after_send:kill@1" });
  const end = await doomed.then(async ({ exit }) => (await exit).signal).catch((error: unknown) => String(error));
  expect(end).toContain("SIGKILL");
}

export const isOperationStored = async () =>
  (await fixture.db.query("select 1 from provider_calls where operation is not null")).length === 1;
export const listCalls = () => fixture.db.query("select call_number, outcome from provider_calls order by call_number");
export const listCaptures = () => fixture.db.query("select 1 from credit_transfers where kind = 'capture'");
