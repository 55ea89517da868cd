/**
 * The disk or the bucket stops working while runs need it: nothing is lost, nothing is paid for twice, work that needs
 * no files continues, and everything ends when the storage is back.
 */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { startBucketServer, type BucketServer } from "../files/bucket-server.ts";
import { createLog } from "../../src/platform/log.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { imagePrompt, photoPrompt, PNG_BASE64, promptFile } from "../prompts/prompt-files.ts";
import { until } from "../support/promptd-process.ts";
import { bodyOf, postRun, runOf, startRun } from "../wire/requests.ts";

const PNG = { type: "base64", base64: PNG_BASE64 } as const;

let server: TestServer;
let caller: TestCaller;

const callsOf = (runId: string) =>
  server.app.db.query<{ outcome: string | null }>("select outcome from provider_calls where run_id = $1", [runId]);
const ended = (runId: string) =>
  until(async () => (await caller.client.runs.get(runId)).runStatus.match(/succeeded|failed/) !== null);

/** A released run is due again after some seconds; a test need not wait for them. */
const retryNow = (runId: string) =>
  server.app.db.query("update runs set run_at = promptd_now() where id = $1", [runId]);

/** Until something fails to be stored, runs begin as if everything could be stored. */
const storesFiles = () => until(async () => (await fetch(`${server.url}/readyz`)).status === 200); // search is loaded too

/** The run succeeded, was paid for once by us and once by its caller, and the ledger is right. */
async function expectOneImage(runId: string): Promise<void> {
  await ended(runId);
  expect(await caller.client.runs.get(runId)).toMatchObject({ runStatus: "succeeded", tokens: 4 });
  // How a send ended is recorded for the operator: no run waits for that to be written.
  await until(async () => (await callsOf(runId)).every(({ outcome }) => outcome !== null));
  expect(await callsOf(runId)).toEqual([{ outcome: "image" }]);
  expect((await server.checkLedger()).mismatches).toEqual([]);
}

describe("a bucket", () => {
  type Disturb = BucketServer["disturb"];
  let bucket: BucketServer;
  let imageVersion = "";
  let photoVersion = "";

  beforeAll(async () => {
    bucket = await startBucketServer();
    const { options } = bucket;
    server = await startTestServer({
      environment: {
        PROMPTD_S3_BUCKET: options.bucket,
        PROMPTD_S3_ENDPOINT: options.endpoint,
        PROMPTD_S3_PREFIX: options.prefix,
        PROMPTD_S3_REGION: options.region,
        AWS_ACCESS_KEY_ID: options.accessKeyId,
        AWS_SECRET_ACCESS_KEY: options.secretAccessKey,
      },
    });
    ({ promptVersionId: imageVersion } = await server.publish(imagePrompt()));
    ({ promptVersionId: photoVersion } = await server.publish(photoPrompt(1)));
  });
  beforeEach(async () => {
    caller = await server.createCaller({ credits: 100 });
    bucket.requests.length = 0;
  });
  afterEach(() => {
    bucket.disturb = () => false;
  });
  afterAll(async () => {
    await server.close();
    await bucket.close();
  });

  const only =
    (method: string, behavior: (request: IncomingMessage, response: ServerResponse) => void): Disturb =>
    (request, response) => {
      if (request.method !== method) return false;
      behavior(request, response);
      return true;
    };
  const answers = (status: number, code: string) => (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`);
  };
  const resets = (request: IncomingMessage): void => void request.socket.destroy();
  const resetsOnTheWay = (request: IncomingMessage): void => void request.once("data", () => request.socket.destroy());
  const breaksOff = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("x".repeat(100), () => response.destroy());
  };
  const requestCount = (method: string): number => bucket.requests.filter((line) => line.startsWith(method)).length;

  test.each<[string, ReturnType<typeof answers>]>([
    ["answers 500", answers(500, "InternalError")],
    ["answers 503 SlowDown", answers(503, "SlowDown")],
    ["answers 403", answers(403, "AccessDenied")],
    ["is gone (404 NoSuchBucket)", answers(404, "NoSuchBucket")],
    ["resets connections", resets],
    ["resets connections in the middle of an upload", resetsOnTheWay],
  ])(
    "that %s when an output is stored makes the run wait, and the run is charged once in the end",
    async (_name, behavior) => {
      bucket.disturb = only("PUT", behavior);
      const runId = await startRun(caller.client, bodyOf(imageVersion));
      await until(async () => requestCount("PUT") >= 4); // more attempts than a single store makes by itself
      expect((await caller.client.runs.get(runId)).runStatus).toBe("running");
      bucket.disturb = () => false;
      await expectOneImage(runId);
    },
  );

  test("that is unavailable blocks no other work, and no model is called for output that could not be stored", async () => {
    bucket.disturb = only("PUT", answers(503, "SlowDown"));
    const first = await startRun(caller.client, bodyOf(imageVersion));
    await until(async () => requestCount("PUT") >= 4);
    const second = await startRun(caller.client, bodyOf(imageVersion));
    const given = "select 1 from runs where id = $1 and attempt > 0 and worker is null";
    await until(async () => (await server.app.db.query(given, [second])).length === 1);
    expect(await callsOf(second)).toEqual([]);
    const { promptVersionId } = await server.publish(promptFile({ model: "sandbox/text-free" }));
    expect(runOf(await postRun(caller.client, bodyOf(promptVersionId))).runStatus).toBe("succeeded");
    bucket.disturb = () => false;
    await retryNow(second);
    await Promise.all([expectOneImage(first), expectOneImage(second)]);
  });

  test("that is unavailable until a run's deadline fails the run without a charge, and operators see why", async () => {
    bucket.disturb = only("PUT", answers(503, "SlowDown"));
    await startRun(caller.client, bodyOf(imageVersion));
    await until(async () => requestCount("PUT") >= 4);
    const runId = await startRun(caller.client, bodyOf(imageVersion));
    const postponed = "select 1 from runs where id = $1 and attempt > 0 and worker is null";
    await until(async () => (await server.app.db.query(postponed, [runId])).length === 1);
    const nearly = "update runs set run_at = promptd_now(), deadline_at = promptd_now() + interval '9 s' where id = $1";
    await server.app.db.query(nearly, [runId]);
    await ended(runId);
    const [end] = await server.app.db.query("select fail_reason, fail_detail from runs where id = $1", [runId]);
    expect(end).toEqual({
      fail_reason: "deadline",
      fail_detail: "Files could not be stored or read until the run's deadline.",
    });
    expect(await caller.client.runs.get(runId)).toMatchObject({
      tokens: 0,
      outputs: [{ type: "error", data: "The run did not finish in time and was stopped. You were not charged." }],
    });
    expect(await callsOf(runId)).toEqual([]);
    expect((await server.checkLedger()).mismatches).toEqual([]);
  });

  test.each<[string, ReturnType<typeof answers>]>([
    ["answers 500", answers(500, "InternalError")],
    ["answers 403", answers(403, "AccessDenied")],
    ["is gone (404 NoSuchBucket)", answers(404, "NoSuchBucket")],
    ["resets connections", resets],
    ["breaks off in the middle of a download", breaksOff],
  ])("that %s when an input is read makes the run wait without costing an attempt", async (_name, behavior) => {
    bucket.disturb = only("GET", behavior);
    const runId = await startRun(caller.client, { promptVersionId: photoVersion, inputs: { imageInputs: [PNG] } });
    const given = "select 1 from runs where id = $1 and worker is null and max_attempts = 3 + attempt and attempt > 0";
    await until(async () => (await server.app.db.query(given, [runId])).length === 1);
    expect(await callsOf(runId)).toEqual([]);
    bucket.disturb = () => false;
    await retryNow(runId);
    await expectOneImage(runId);
  });

  test("that refuses an input when a run is created: no run, no charge, and the server says that the failure is its own", async () => {
    bucket.disturb = only("PUT", answers(403, "AccessDenied"));
    const answer = await postRun(caller.client, { promptVersionId: photoVersion, inputs: { imageInputs: [PNG] } });
    expect(answer.httpStatus).toBe(500);
    expect(answer.text).not.toMatch(/AccessDenied|bucket/i);
    expect((await caller.client.runs.list()).rows).toEqual([]);
    expect(await caller.client.me.credits()).toEqual({ credits: 100 });
  });

  test("that does not respond when a refused run's image is to be removed delays no response", async () => {
    bucket.disturb = only("DELETE", (request) => void request.resume());
    await server.app.db.query(`create function refuse_run() returns trigger language plpgsql
        as $$ begin raise 'no space left' using errcode = '53100'; end $$;
      create trigger refuse_run before insert on runs for each row execute function refuse_run()`);
    const answer = await postRun(caller.client, { promptVersionId: photoVersion, inputs: { imageInputs: [PNG] } });
    await server.app.db.query("drop trigger refuse_run on runs");
    expect(answer.httpStatus).toBe(500);
    await until(async () => requestCount("DELETE") === 1);
  });

  describe("when a generated file is fetched", () => {
    async function makeFile(): Promise<string> {
      const run = runOf(await postRun(caller.client, bodyOf(imageVersion)));
      return run.outputs[0]?.data ?? "";
    }

    test.each<[string, ReturnType<typeof answers>]>([
      ["answers 500", answers(500, "InternalError")],
      ["answers 403", answers(403, "AccessDenied")],
      ["is gone (404 NoSuchBucket)", answers(404, "NoSuchBucket")],
      ["resets connections", resets],
    ])("and the bucket %s, the response is 500, and the file again when it is back", async (_name, behavior) => {
      const url = await makeFile();
      bucket.disturb = only("GET", behavior);
      const broken = await fetch(url);
      expect(broken.status).toBe(500);
      expect(await broken.text()).not.toMatch(/InternalError|AccessDenied|NoSuchBucket|promptd-files/);
      bucket.disturb = () => false;
      expect((await fetch(url)).status).toBe(200);
    });

    test("and breaks off gives a broken download, never a short file", async () => {
      const url = await makeFile();
      bucket.disturb = only("GET", breaksOff);
      await expect(fetch(url).then((answer) => answer.arrayBuffer())).rejects.toThrow("terminated");
      bucket.disturb = () => false;
      expect((await (await fetch(url)).arrayBuffer()).byteLength).toBeGreaterThan(1_000);
    });

    test("HEAD of a missing bucket is a failure, and of a missing file 404", async () => {
      const url = await makeFile();
      bucket.disturb = (request, response) => {
        request.resume();
        response.writeHead(404).end(request.method === "HEAD" ? undefined : "<Error><Code>NoSuchBucket</Code></Error>");
        return true;
      };
      expect((await fetch(url, { method: "HEAD" })).status).toBe(500);
      bucket.disturb = (request, response) => {
        request.resume();
        response.writeHead(404).end(request.method === "HEAD" ? undefined : "<Error><Code>NoSuchKey</Code></Error>");
        return true;
      };
      expect((await fetch(url, { method: "HEAD" })).status).toBe(404);
    });
  });
});

describe("a disk", () => {
  let dataDir = "";

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "promptd-outage-"));
    server = await startTestServer({ environment: { PROMPTD_DATA_DIR: dataDir } });
    caller = await server.createCaller({ credits: 100 });
  });
  afterAll(async () => {
    await server.close();
    await rm(dataDir, { recursive: true });
  });

  test("that accepts no files from the start causes no model call for an image, and the run ends when it recovers", async () => {
    const { promptVersionId } = await server.publish(imagePrompt());
    const [place, away] = [join(dataDir, "files", "partial"), join(dataDir, "files", "away")];
    await rename(place, away);
    const runId = await startRun(caller.client, bodyOf(promptVersionId));
    const given = "select 1 from runs where id = $1 and attempt > 0 and worker is null";
    await until(async () => (await server.app.db.query(given, [runId])).length === 1);
    expect(await callsOf(runId)).toEqual([]);
    await rename(away, place);
    await retryNow(runId);
    await expectOneImage(runId);
  });

  test("that stops accepting files makes a run with a finished image wait, and the run ends when it recovers", async () => {
    const { promptVersionId } = await server.publish(imagePrompt());
    const [place, away] = [join(dataDir, "files", "partial"), join(dataDir, "files", "away")];
    await storesFiles();
    await rename(place, away);
    const runId = await startRun(caller.client, bodyOf(promptVersionId));
    await until(async () => (await callsOf(runId))[0]?.outcome === "image");
    expect((await caller.client.runs.get(runId)).runStatus).toBe("running");
    await rename(away, place);
    await expectOneImage(runId);
  });
});

/** A separate file system of 600 KiB, if the tests may mount one. */
async function mountSmallDisk(path: string): Promise<boolean> {
  await mkdir(path, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=600k", "tmpfs", path], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe("a disk that is full", () => {
  let dataDir = "";
  let isMounted = false;
  const log = createLog("error", "stderr");
  const noted = vi.spyOn(log, "error");

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "promptd-full-"));
    isMounted = await mountSmallDisk(join(dataDir, "files"));
    server = await startTestServer({ environment: { PROMPTD_DATA_DIR: dataDir }, log });
    caller = await server.createCaller({ credits: 100 });
  });
  afterAll(async () => {
    await server.close();
    if (isMounted) execFileSync("umount", [join(dataDir, "files")]);
    await rm(dataDir, { recursive: true });
  });

  test("loses no run: finished output is stored when there is room, and unfinished output is not requested", async (context) => {
    if (!isMounted) context.skip("no file system can be mounted here");
    const { promptVersionId } = await server.publish(imagePrompt());
    const filler = join(dataDir, "files", "filler");
    await storesFiles();
    await expect(writeFile(filler, Buffer.alloc(1_000_000, 1))).rejects.toThrow("ENOSPC");
    const first = await startRun(caller.client, bodyOf(promptVersionId));
    await until(async () => (await callsOf(first))[0]?.outcome === "image");
    // A run that begins before that is known would call the model as well.
    await until(async () => noted.mock.calls.some((logged) => String(logged[1]).startsWith("files cannot be stored")));
    const second = await startRun(caller.client, bodyOf(promptVersionId));
    const given = "select 1 from runs where id = $1 and attempt > 0 and worker is null";
    await until(async () => (await server.app.db.query(given, [second])).length === 1);
    expect(await callsOf(second)).toEqual([]);
    expect((await caller.client.runs.get(first)).runStatus).toBe("running");
    await rm(filler);
    await retryNow(second);
    await Promise.all([expectOneImage(first), expectOneImage(second)]);
    expect((await fetch((await caller.client.runs.get(first)).outputs[0]?.data ?? "")).status).toBe(200);
  });
});
