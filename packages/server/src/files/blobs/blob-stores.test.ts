/** What every blob store promises; disk-blobs.test.ts and s3-blobs.test.ts test what only one of them does. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBucketServer } from "../../../test/files/bucket-server.ts";
import { systemClock } from "../../platform/clock.ts";
import { createIdSource } from "../../platform/ids.ts";
import type { BlobStore, ByteRange } from "./blob-store.ts";
import { createDiskBlobs } from "./disk-blobs.ts";
import { createS3Blobs } from "./s3-blobs.ts";

const CONTENT = Buffer.from("0123456789");
const newId = createIdSource(systemClock);

async function openDisk() {
  const directory = await mkdtemp(join(tmpdir(), "promptd-blobs-"));
  return { blobs: await createDiskBlobs(join(directory, "files")), close: () => rm(directory, { recursive: true }) };
}

async function openBucket() {
  const server = await startBucketServer();
  return { blobs: createS3Blobs(server.options, systemClock), close: () => server.close() };
}

describe.each([
  ["on disk", openDisk],
  ["in a bucket", openBucket],
])("a blob %s", (_where, open) => {
  let blobs: BlobStore;
  let key: string;
  beforeAll(async () => {
    const opened = await open();
    blobs = opened.blobs;
    return opened.close;
  });
  beforeEach(() => {
    key = newId();
  });

  async function read(range: ByteRange | null = null) {
    const blob = await blobs.get(key, range);
    return blob && { ...blob, body: Buffer.concat((await blob.body.toArray()) as Buffer[]) };
  }
  const listAll = async () => (await Array.fromAsync(blobs.list("", () => {}))).map((entry) => entry.key);

  test("can be read, sized, and listed, and is gone after deletion", async () => {
    await blobs.put(key, () => [CONTENT], 10);
    expect(await read()).toEqual({ body: CONTENT, size: 10, part: null });
    expect(await blobs.size(key)).toBe(10);
    expect(await listAll()).toEqual([key]);
    await blobs.delete(key);
    await blobs.delete(key);
    expect([await read(), await blobs.size(key), await listAll()]).toEqual([null, null, []]);
  });

  test("that arrives in pieces is stored unchanged", async () => {
    const bytes = randomBytes(5_000_000);
    await blobs.put(key, () => Readable.from([bytes.subarray(0, 1_234_567), bytes.subarray(1_234_567)]), bytes.length);
    expect((await read())?.body.equals(bytes)).toBe(true);
  });

  test.each<[ByteRange, string, { start: number; end: number } | null]>([
    [{ kind: "from", start: 2, end: 5 }, "2345", { start: 2, end: 5 }],
    [{ kind: "from", start: 7, end: null }, "789", { start: 7, end: 9 }],
    [{ kind: "from", start: 7, end: 99 }, "789", { start: 7, end: 9 }],
    [{ kind: "from", start: 0, end: null }, "0123456789", { start: 0, end: 9 }],
    [{ kind: "last", count: 3 }, "789", { start: 7, end: 9 }],
    [{ kind: "last", count: 99 }, "0123456789", { start: 0, end: 9 }],
    [{ kind: "from", start: 10, end: null }, "0123456789", null],
    [{ kind: "from", start: 5, end: 2 }, "0123456789", null],
    [{ kind: "last", count: 0 }, "0123456789", null],
  ])("gives %o as %s", async (range, text, part) => {
    await blobs.put(key, () => [CONTENT], 10);
    expect(await read(range)).toEqual({ body: Buffer.from(text), size: 10, part });
  });

  const BAD_KEYS = ["../secret", "/etc/passwd", "", "..", "a/b", "0".repeat(36), `${newId()}\0`, newId().toUpperCase()];
  test.each(BAD_KEYS)("with the key %o is refused by every operation", async (name) => {
    await expect(blobs.get(name, null)).rejects.toThrow(TypeError);
    await expect(blobs.size(name)).rejects.toThrow(TypeError);
    await expect(blobs.delete(name)).rejects.toThrow(TypeError);
    await expect(blobs.put(name, () => [CONTENT], 10)).rejects.toThrow(TypeError);
  });
});
