/**
 * Videos of real providers' protocols in real worker processes that are killed at the worst moments. What a provider
 * was asked to start is asked for by whoever comes next, and never started twice where its name was known.
 */
import { readFile, writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAccount } from "../../src/accounts/index.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { parsePromptFile, publishPrompts } from "../../src/prompts/index.ts";
import { startBucketServer } from "../files/bucket-server.ts";
import { openInstallationFixture, type InstallationFixture } from "../support/installation-fixture.ts";
import { killLeftovers, until, type PromptdProcess } from "../support/promptd-process.ts";
import { startProviderDouble, type ProviderDouble, type ProviderDoubleOptions } from "../providers/provider-double.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";

const MODELS = {
  Veo: "google/veo-3.1-fast-generate-preview",
  fal: "fal/luma-ray-2-flash",
  Replicate: "replicate/minimax-video-01",
} as const;

let database: TestDatabase;
let fixture: InstallationFixture;
let double: ProviderDouble;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await killLeftovers();
  await double.close();
  await fixture.close();
  await database.drop();
});

interface OpenOptions extends ProviderDoubleOptions {
  readonly environment?: Readonly<Record<string, string>>;
}

async function open(options: OpenOptions = {}): Promise<void> {
  double = await startProviderDouble(options);
  fixture = await openInstallationFixture(database.url, {
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
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
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

/** An API process and one run that waits for a worker. @returns how to see it, as its caller does. */
async function createRun(model: string) {
  const promptVersionId = await publish(model);
  const caller = await fixture.createCaller();
  const api = await fixture.start("api");
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
async function letWorkerDie(): Promise<void> {
  const doomed = fixture.start("worker", { PROMPTD_FAULT: "call.after_send:kill@1" });
  const end = await doomed.then(async ({ exit }) => (await exit).signal).catch((error: unknown) => String(error));
  expect(end).toContain("SIGKILL");
}

const isOperationKept = async () =>
  (await fixture.db.query("select 1 from provider_calls where operation is not null")).length === 1;
const listSends = () => fixture.db.query("select send, outcome from provider_calls order by send");
const listCaptures = () => fixture.db.query("select 1 from credit_transfers where kind = 'capture'");

describe.each(Object.entries(MODELS))("a worker that works on a video of %s", (_name, model) => {
  test("and is killed while it waits leaves the same video to the next one", { timeout: 120_000 }, async () => {
    await open();
    const run = await createRun(model);
    const first = await fixture.start("worker");
    await until(async () => double.polls.length > 0 && (await isOperationKept()));
    await first.kill();
    const asked = double.polls.length;
    const second = await fixture.start("worker");
    await until(() => double.polls.length > asked);
    expect((await run.get()).runStatus).toBe("running");
    double.finishVideos();
    const { runStatus, outputs } = await run.finished();
    expect([runStatus, outputs?.[0]?.type]).toEqual(["succeeded", "video"]);
    expect(double.submissions).toEqual([1]);
    expect(new Set(double.polls)).toEqual(new Set([1]));
    await second.stop();
    expect(await listSends()).toEqual([{ send: 1, outcome: "video" }]);
    expect(await listCaptures()).toHaveLength(1);
    expect(await fixture.findFaults()).toEqual([]);
  });

  test("and is killed before the video's name is kept costs one more submission", { timeout: 120_000 }, async () => {
    await open();
    const run = await createRun(model);
    await letWorkerDie();
    expect([double.submissions, await isOperationKept()]).toEqual([[1], false]);
    double.finishVideos();
    const second = await fixture.start("worker");
    expect((await run.finished()).runStatus).toBe("succeeded");
    expect(double.submissions).toEqual([1, 2]);
    await second.stop();
    expect(await listSends()).toEqual([
      { send: 1, outcome: null },
      { send: 2, outcome: "video" },
    ]);
    expect(await listCaptures()).toHaveLength(1);
    expect(await fixture.findFaults()).toEqual([]);
  });
});

/** What each provider documents to stop a job; of Veo nothing is documented. */
const CANCELS = {
  Veo: { seen: [], outcome: "cancel_impossible" },
  fal: { seen: [{ number: 1, method: "PUT", authorization: "Key k" }], outcome: "canceled" },
  Replicate: { seen: [{ number: 1, method: "POST", authorization: "Bearer k" }], outcome: "canceled" },
} as const;

describe.each(Object.entries(CANCELS))("a canceled run with a video of %s", (name, { seen, outcome }) => {
  const model = MODELS[name as keyof typeof MODELS];
  const isEnded = async () =>
    (await fixture.db.query("select 1 from provider_calls where ended_at is not null")).length === 1;

  test("stops it at the provider while a worker waits for it", { timeout: 120_000 }, async () => {
    await open();
    const run = await createRun(model);
    const worker = await fixture.start("worker");
    await until(() => double.polls.length > 0);
    await run.cancel();
    await until(isEnded);
    expect(double.cancels).toEqual(seen);
    await worker.stop();
    expect(await listSends()).toEqual([{ send: 1, outcome }]);
    expect(await listCaptures()).toEqual([]);
    expect(await fixture.findFaults()).toEqual([]);
  });

  test("stops it at the provider though its worker is dead", { timeout: 120_000 }, async () => {
    await open();
    const run = await createRun(model);
    const worker = await fixture.start("worker");
    await until(async () => double.polls.length > 0 && (await isOperationKept()));
    await worker.kill();
    await run.cancel();
    await fixture.start("worker");
    await until(isEnded);
    expect(double.cancels).toEqual(seen);
    expect(double.submissions).toEqual([1]);
    expect(await listSends()).toEqual([{ send: 1, outcome }]);
  });
});

test("three workers killed before the video's name is kept end the run: failed, free, three submissions", async () => {
  await open();
  const run = await createRun(MODELS.Veo);
  for (let death = 1; death <= 3; death += 1) await letWorkerDie();
  double.finishVideos();
  const last = await fixture.start("worker");
  expect(await run.finished()).toMatchObject({ runStatus: "failed" });
  expect(double.submissions).toEqual([1, 2, 3]);
  await last.stop();
  expect(await listCaptures()).toEqual([]);
  expect(await fixture.findFaults()).toEqual([]);
}, 120_000);

const VIDEO_BYTES = 150 * 1_048_576;
const PIECE = Buffer.alloc(65_536, 7);

/** A film that begins as an MP4 does and is made while it is sent. */
function film(): Readable {
  function* pieces(): Generator<Uint8Array> {
    const head = Buffer.from(PIECE);
    head.write("\0\0\0\x18ftypisom", "latin1");
    yield head;
    for (let sent = PIECE.length; sent < VIDEO_BYTES; sent += PIECE.length) yield PIECE;
  }
  return Readable.from(pieces());
}

/** The most memory the process has held since `forgetPeak`, in MiB. */
async function readPeak({ pid }: PromptdProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024;
}
const forgetPeak = ({ pid }: PromptdProcess) => writeFile(`/proc/${pid}/clear_refs`, "5");

/** Where files go: nothing said is the disk. */
async function openStore(kind: string): Promise<{ environment: Record<string, string>; close(): Promise<void> }> {
  if (kind === "the disk") return { environment: {}, close: async () => {} };
  const bucket = await startBucketServer();
  const { options } = bucket;
  const environment = {
    PROMPTD_S3_BUCKET: options.bucket,
    PROMPTD_S3_ENDPOINT: options.endpoint,
    AWS_ACCESS_KEY_ID: options.accessKeyId,
    AWS_SECRET_ACCESS_KEY: options.secretAccessKey,
  };
  return { environment, close: () => bucket.close() };
}

describe.runIf(process.platform === "linux")("a video of 150 MiB", () => {
  test.for(["the disk", "a bucket"])(
    "passes through a worker to %s, and the worker's memory stays flat",
    { timeout: 300_000 },
    async (kind, { annotate }) => {
      const store = await openStore(kind);
      await open({ video: film, environment: store.environment });
      const run = await createRun(MODELS.Veo);
      const worker = await fixture.start("worker", { NODE_OPTIONS: "--max-old-space-size=96" });
      await until(() => double.polls.length > 0);
      await forgetPeak(worker);
      const before = await readPeak(worker);
      double.finishVideos();
      const { runStatus, outputs } = await run.finished();
      expect(runStatus).toBe("succeeded");
      const grown = (await readPeak(worker)) - before;
      expect(grown).toBeLessThan(100); // held whole, it would be 150 and more; buffers not collected yet are 30 to 60
      const { pathname, search } = new URL(outputs?.[0]?.data ?? "");
      const served = await fetch(run.apiUrl + pathname + search, { method: "HEAD" });
      expect(Number(served.headers.get("content-length"))).toBe(VIDEO_BYTES);
      await annotate(`${Math.round(grown)} MiB more than the ${Math.round(before)} MiB before`);
      await worker.stop();
      await store.close();
    },
  );
});
