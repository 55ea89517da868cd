/** Video runs, with stand-ins for the providers: their API runs in this process, their workers are real ones. */
import { join } from "node:path";
import type { Client } from "@promptd/client";
import { afterAll, expect, type TestContext } from "vitest";
import { createAccount } from "../../src/accounts/index.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { parsePromptFile, publishPrompts } from "../../src/prompts/index.ts";
import { startProviderDouble, type ProviderDouble, type ProviderDoubleOptions } from "../providers/provider-double.ts";
import { openInstallationFixture, type InstallationFixture } from "../support/installation-fixture.ts";
import { killLeftovers, until, type PromptdProcess } from "../support/promptd-process.ts";
import { createTestDatabase } from "../support/test-database.ts";

export const VIDEO_MODELS = {
  Veo: "google/veo", // as an operator's own entry: the shipped entries are retired
  fal: "fal/luma-ray-2-flash",
  Replicate: "replicate/minimax-video-01",
} as const;
/** Pictures that are made in a queue. */
export const IMAGE_MODELS = { fal: "fal/flux-schnell", Replicate: "replicate/flux-schnell" } as const;

const OVERLAY = join(import.meta.dirname, "../providers/own-models.json");

/** An installation whose providers are all one double, and what a video test does with it. */
export interface VideoRuns {
  readonly double: ProviderDouble;
  readonly fixture: InstallationFixture;
  /** An API and one run that waits for a worker. @returns how its caller sees it. */
  readonly createRun: (model: string) => Promise<VideoRun>;
  /**
   * Ends a worker process like a crash, with its lease expired: waiting for that has its own test,
   * faults-crash.test.ts.
   */
  readonly killWorker: (worker: PromptdProcess) => Promise<void>;
  /** A worker that dies when the provider has answered the start; it may claim before it reports that it is ready. */
  readonly letWorkerDie: () => Promise<void>;
  readonly isOperationStored: () => Promise<boolean>;
  readonly isEnded: () => Promise<boolean>;
  readonly listCalls: () => Promise<unknown[]>;
  readonly listCaptures: () => Promise<unknown[]>;
}

type RunBody = Awaited<ReturnType<Client["runs"]["get"]>>;

export interface VideoRun {
  readonly apiUrl: string;
  finished(): Promise<RunBody>;
  get(): Promise<RunBody>;
  cancel(): Promise<unknown>;
}

interface OpenOptions extends ProviderDoubleOptions {
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Concurrent test cases each have their own database, double, and processes; they spend most of their time waiting.
 * @param onTestFinished of the running test: it closes everything again.
 */
export async function openVideoRuns(
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
  options: OpenOptions = {},
): Promise<VideoRuns> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const double = await startProviderDouble(options);
  onTestFinished(() => double.close());
  const fixture = await openInstallationFixture(database.url, {
    PROMPTD_MODELS_FILE: OVERLAY,
    PROMPTD_LEASE_MS: "30000", // a worker on a busy machine must not count as lost: that would be another case
    GOOGLE_GENERATIVE_AI_API_KEY: "k",
    GOOGLE_GENERATIVE_AI_BASE_URL: double.url,
    FAL_API_KEY: "k",
    FAL_BASE_URL: `${double.url}/fal`,
    REPLICATE_API_TOKEN: "k",
    REPLICATE_BASE_URL: double.url,
    ...options.environment,
  });
  onTestFinished(() => fixture.close()); // first: these run in reverse order
  return createActions(double, fixture);
}
afterAll(killLeftovers);

function createActions(double: ProviderDouble, fixture: InstallationFixture): VideoRuns {
  const { db } = fixture;
  return {
    double,
    fixture,
    createRun: (model) => createRun(fixture, model),
    killWorker: async (worker) => {
      await worker.kill();
      await fixture.expireLeases();
    },
    letWorkerDie: async () => {
      const doomed = fixture.start("worker", { PROMPTD_FAULT: "call.after_send:kill@1" });
      const end = await doomed.then(async ({ exit }) => (await exit).signal).catch((error: unknown) => String(error));
      expect(end).toContain("SIGKILL");
      await fixture.expireLeases();
    },
    isOperationStored: async () =>
      (await db.query("select 1 from provider_calls where operation is not null")).length === 1,
    isEnded: async () => (await db.query("select 1 from provider_calls where ended_at is not null")).length === 1,
    listCalls: async () => {
      const list = () =>
        db.query<{ outcome: string | null }>("select call_number, outcome from provider_calls order by call_number");
      // How a call ended is recorded for the operator: no run waits for that to be written.
      await until(async () => ((await list()).at(-1)?.outcome ?? null) !== null);
      return list();
    },
    listCaptures: () => db.query("select 1 from credit_transfers where kind = 'capture'"),
  };
}

async function publish(fixture: InstallationFixture, model: string): Promise<string> {
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

async function createRun(fixture: InstallationFixture, model: string): Promise<VideoRun> {
  const promptVersionId = await publish(fixture, model);
  const caller = await fixture.createCaller();
  const api = await fixture.startHere("api");
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
