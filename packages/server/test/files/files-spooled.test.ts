/** Videos written to disk as they arrive: checked there, moved to the store, never left behind. */
import { mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FilesOptions } from "../../src/files/create-files.ts";
import { createGuardedFetch, type Files, type SpooledFile } from "../../src/files/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { startBucketServer } from "./bucket-server.ts";
import { getFile } from "./files-fixture.ts";
import { startImageHost } from "./image-host.ts";
import { openFiles } from "../support/open-files.ts";
import { useTestDatabase } from "../support/test-database.ts";

const never = new AbortController().signal;
const MP4 = Buffer.concat([Buffer.from("\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "latin1"), Buffer.alloc(3_000_000, 7)]);

let db: Database;
let dataDir: string;
useTestDatabase((opened) => (db = opened.db));
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "promptd-spooled-"));
});
afterEach(() => rm(dataDir, { recursive: true }));

const open = (options: Partial<FilesOptions> = {}): Promise<Files> => openFiles({ db, dataDir }, options);

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += 65_536) yield bytes.subarray(start, start + 65_536);
}

const incoming = () => readdir(join(dataDir, "files", "incoming"));
const store = (files: Files, content: SpooledFile) =>
  files.storeOutput({ modality: "video", mediaType: "video/anything", content }, never);

async function read(files: Files, address: string): Promise<Buffer> {
  const answer = await getFile(files, address);
  return "body" in answer && answer.body !== null ? answer.body : Buffer.alloc(0);
}

describe("a spooled video", () => {
  test("becomes a stored file with the size and hash of its bytes", async () => {
    const files = await open();
    const stored = await store(files, await files.spool.write(inPieces(MP4)));
    if (stored.kind !== "stored") throw new Error(stored.message);
    const inMemory = await files.storeOutput({ modality: "video", mediaType: "video/mp4", content: MP4 }, never);
    if (inMemory.kind !== "stored") throw new Error(inMemory.message);
    const { bytes, sha256, mediaType } = inMemory;
    expect(stored).toMatchObject({ bytes, sha256, mediaType });
    expect((await read(files, stored.url)).equals(MP4)).toBe(true);
    expect(await incoming()).toEqual([]);
  });

  test("is uploaded to a bucket, again if the bucket fails once, and then removed from this machine", async () => {
    const bucket = await startBucketServer();
    try {
      let failures = 1;
      bucket.disturb = (request, response) => {
        if (request.method !== "PUT" || failures === 0) return false;
        failures -= 1;
        request.resume().on("end", () => response.writeHead(503).end());
        return true;
      };
      const files = await open({ bucket: bucket.options });
      const stored = await store(files, await files.spool.write(inPieces(MP4)));
      if (stored.kind !== "stored") throw new Error(stored.message);
      expect((await read(files, stored.url)).equals(MP4)).toBe(true);
      expect(bucket.requests.filter((request) => request.startsWith("PUT"))).toHaveLength(2);
      expect(await incoming()).toEqual([]);
    } finally {
      await bucket.close();
    }
  });

  test.each([
    ["not a video", Buffer.from("<html>not a video</html>"), "cannot be read."],
    ["empty", Buffer.alloc(0), "cannot be read."],
  ])("that is %s is refused and removed", async (_name, bytes, words) => {
    const files = await open();
    const spooled = await files.spool.write(inPieces(bytes));
    expect(await store(files, spooled)).toMatchObject({ kind: "refused", message: expect.stringContaining(words) });
    expect(await incoming()).toEqual([]);
  });

  test("of a canceled run is removed, not stored", async () => {
    const files = await open();
    const content = await files.spool.write(inPieces(MP4));
    const reason = new Error("canceled");
    const output = { modality: "video" as const, mediaType: "video/mp4", content };
    await expect(files.storeOutput(output, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(await readdir(join(dataDir, "files"))).toEqual(["incoming", "partial"]);
    expect(await incoming()).toEqual([]);
  });

  test("that breaks off while arriving leaves nothing behind", async () => {
    const files = await open();
    const reason = new Error("the connection broke");
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield MP4;
      throw reason;
    }
    await expect(files.spool.write(broken())).rejects.toBe(reason);
    expect(await incoming()).toEqual([]);
  });

  test("whose process died is swept once it is old, and stays until then", async () => {
    const files = await open();
    const [old, fresh] = [await files.spool.write(inPieces(MP4)), await files.spool.write(inPieces(MP4))];
    const threeHoursAgo = systemClock.nowMs() / 1_000 - 3 * 3_600;
    await utimes(old.path, threeHoursAgo, threeHoursAgo);
    await files.ticks.find((tick) => tick.name === "files-orphans")?.run();
    expect(await incoming()).toEqual([fresh.path.split("/").at(-1)]);
  });
});

describe("a guarded fetch into a file", () => {
  test("writes what arrives, stops at its limit, and reports a full disk as such", async () => {
    const host = await startImageHost();
    try {
      host.routes.set("/v.mp4", (_request, response) => response.end(MP4));
      const { spool } = await open();
      const guarded = createGuardedFetch({ network: host.network, trusted: host.cert });
      const fetchInto = (bytesMax: number, consume: (pieces: AsyncIterable<Uint8Array>) => Promise<SpooledFile>) =>
        guarded.fetchInto("https://images.example.org/v.mp4", { bytesMax, read: consume }, never);
      const fetched = await fetchInto(MP4.length, (pieces) => spool.write(pieces));
      expect(fetched).toMatchObject({ kind: "fetched", content: { bytes: MP4.length } });
      const chunked = await fetchInto(MP4.length - 1, (pieces) => spool.write(pieces));
      expect(chunked).toMatchObject({ kind: "refused", fault: "too-large" });
      const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      await expect(fetchInto(MP4.length, () => Promise.reject(full))).rejects.toBe(full);
      expect(host.requests).toHaveLength(3); // none was requested again
      expect(await incoming()).toHaveLength(1);
    } finally {
      await host.close();
    }
  });
});
