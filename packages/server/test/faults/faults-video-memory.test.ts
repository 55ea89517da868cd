/** A long video passes through a worker process, which never holds it whole. */
import { readFile, writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { startBucketServer } from "../files/bucket-server.ts";
import { until, type PromptdProcess } from "../support/promptd-process.ts";
import { openVideoRuns, VIDEO_MODELS } from "../runs/video-fixture.ts";

const VIDEO_BYTES = 150 * 1_048_576;
const PIECE = Buffer.alloc(65_536, 7);

/** A film that begins like an MP4 file and is generated while it is sent. */
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

/** Where files go: by default the disk. */
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
    async (kind, context) => {
      const store = await openStore(kind);
      const { double, fixture, createRun } = await openVideoRuns(context, {
        video: film,
        environment: store.environment,
      });
      const run = await createRun(VIDEO_MODELS.Veo);
      const worker = await fixture.start("worker", { NODE_OPTIONS: "--max-old-space-size=96" });
      await until(() => double.polls.length > 0);
      await forgetPeak(worker);
      const before = await readPeak(worker);
      double.finishJobs();
      const { runStatus, outputs } = await run.finished();
      expect(runStatus).toBe("succeeded");
      const grown = (await readPeak(worker)) - before;
      expect(grown).toBeLessThan(100); // held whole, it would be 150 and more; buffers not collected yet are 14 to 88
      const { pathname, search } = new URL(outputs?.[0]?.data ?? "");
      const served = await fetch(run.apiUrl + pathname + search, { method: "HEAD" });
      expect(Number(served.headers.get("content-length"))).toBe(VIDEO_BYTES);
      await context.annotate(`${Math.round(grown)} MiB more than the ${Math.round(before)} MiB before`);
      await worker.stop();
      await store.close();
    },
  );
});
