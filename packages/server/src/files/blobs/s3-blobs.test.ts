import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBucketServer, type BucketServer } from "../../../test/files/bucket-server.ts";
import { systemClock } from "../../platform/clock.ts";
import { createIdSource } from "../../platform/ids.ts";
import type { BlobStore, ByteRange } from "./blob-store.ts";
import { createS3Blobs } from "./s3-blobs.ts";

const CONTENT = Buffer.from("0123456789");
const newId = createIdSource(systemClock);

let server: BucketServer;
let blobs: BlobStore;
let key: string;

beforeAll(async () => {
  server = await startBucketServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.disturb = () => false;
  server.requests.length = 0;
  server.completed.length = 0;
  blobs = createS3Blobs(server.options, systemClock);
  key = newId();
});

async function read(name = key): Promise<string | null> {
  const blob = await blobs.get(name, null);
  return blob === null ? null : Buffer.concat((await blob.body.toArray()) as Buffer[]).toString();
}

async function listAll(store: BlobStore, prefix = ""): Promise<string[]> {
  const keys: string[] = [];
  for await (const entry of store.list(prefix, () => {})) keys.push(entry.key);
  return keys.sort();
}

test("a stored blob can be read, sized, and listed, and is gone after deletion", async () => {
  await blobs.put(key, () => [CONTENT], 10);
  expect([await read(), await blobs.size(key)]).toEqual(["0123456789", 10]);
  expect(await listAll(blobs)).toContain(key);
  await blobs.delete(key);
  await blobs.delete(key);
  expect([await read(), await blobs.size(key)]).toEqual([null, null]);
  expect(await listAll(blobs)).not.toContain(key);
  expect(server.requests[0]).toBe(`PUT /promptd-files/promptd/${key}`);
});

test("megabytes in pieces arrive unchanged", async () => {
  const bytes = randomBytes(5_000_000);
  await blobs.put(key, () => Readable.from([bytes.subarray(0, 1_234_567), bytes.subarray(1_234_567)]), bytes.length);
  const blob = await blobs.get(key, null);
  expect(Buffer.concat((await blob?.body.toArray()) as Buffer[]).equals(bytes)).toBe(true);
});

test.each<[ByteRange, string, { start: number; end: number } | null]>([
  [{ kind: "from", start: 2, end: 5 }, "2345", { start: 2, end: 5 }],
  [{ kind: "from", start: 7, end: null }, "789", { start: 7, end: 9 }],
  [{ kind: "from", start: 7, end: 99 }, "789", { start: 7, end: 9 }],
  [{ kind: "last", count: 3 }, "789", { start: 7, end: 9 }],
  [{ kind: "last", count: 99 }, "0123456789", { start: 0, end: 9 }],
  [{ kind: "last", count: 0 }, "0123456789", null],
  [{ kind: "from", start: 10, end: null }, "0123456789", null],
])("range %o gives %s", async (range, text, part) => {
  await blobs.put(key, () => [CONTENT], 10);
  const blob = await blobs.get(key, range);
  expect({ size: blob?.size, part: blob?.part }).toEqual({ size: 10, part });
  expect(Buffer.concat((await blob?.body.toArray()) as Buffer[]).toString()).toBe(text);
});

test("a listing reads all pages, stays within its prefix, and skips what is not a blob", async () => {
  const store = createS3Blobs({ ...server.options, prefix: `pages-${key}/` }, systemClock);
  const keys = Array.from({ length: 1_003 }, () => newId());
  for (let at = 0; at < keys.length; at += 50) {
    await Promise.all(keys.slice(at, at + 50).map((name) => store.put(name, () => [CONTENT], 10)));
  }
  const other = createS3Blobs({ ...server.options, prefix: `pages-${key}/deep/` }, systemClock);
  await other.put(key, () => [CONTENT], 10);
  server.requests.length = 0;
  expect(await listAll(store)).toEqual(keys.sort());
  expect(server.requests).toHaveLength(2);
  expect(await listAll(store, keys[7])).toEqual([keys[7]]);
  for await (const { modifiedAtMs } of other.list("", () => {})) {
    expect(Math.abs(modifiedAtMs - systemClock.nowMs())).toBeLessThan(60_000);
  }
});

test.each(["../secret", "", "0".repeat(36), "a/b"])("the key %o is refused", async (name) => {
  await expect(blobs.get(name, null)).rejects.toThrow(TypeError);
  await expect(blobs.put(name, () => [CONTENT], 10)).rejects.toThrow(TypeError);
  expect(server.requests).toEqual([]);
});

describe("a bucket that fails", () => {
  /** Fails the first `count` requests in the given way. */
  const failFirst = (count: number, kind: number | "reset") => {
    let left = count;
    server.disturb = (request, response) => {
      if (left === 0) return false;
      left -= 1;
      if (kind === "reset") request.socket.destroy();
      else response.writeHead(kind).end("<Error><Code>SlowDown</Code><Message>promptd/secret</Message></Error>");
      return true;
    };
  };

  test.each([503, 500, 429, "reset"] as const)("for a moment (%s) is retried with the whole body", async (kind) => {
    failFirst(2, kind);
    await blobs.put(key, () => [CONTENT], 10);
    expect(server.requests).toHaveLength(3);
    expect(await read()).toBe("0123456789");
  });

  test("for longer causes a failure that names the bucket's code and nothing else", async () => {
    failFirst(9, 503);
    await expect(blobs.put(key, () => [CONTENT], 10)).rejects.toThrow(/^The bucket answered 503 SlowDown$/);
    expect(server.requests).toHaveLength(3);
    failFirst(9, "reset");
    await expect(blobs.get(key, null)).rejects.toThrow(/^The bucket could not be reached\.$/);
  });

  test("by not responding counts as unreachable, for every operation", async () => {
    server.disturb = () => true;
    const impatient = createS3Blobs({ ...server.options, idleMs: 50 }, systemClock);
    await expect(impatient.put(key, () => [CONTENT], 10)).rejects.toThrow("The bucket could not be reached.");
    await expect(impatient.get(key, null)).rejects.toThrow("The bucket could not be reached.");
    expect(server.requests).toHaveLength(6);
  });

  test("by not existing causes a failure, not a missing file", async () => {
    const gone = createS3Blobs({ ...server.options, bucket: "another-bucket" }, systemClock);
    await expect(gone.get(key, null)).rejects.toThrow("The bucket answered 404 NoSuchBucket");
    await expect(gone.size(key)).rejects.toThrow("The bucket answered 404 NoSuchBucket");
    await expect(gone.delete(key)).rejects.toThrow("The bucket answered 404 NoSuchBucket");
    await expect(gone.put(key, () => [CONTENT], 10)).rejects.toThrow("The bucket answered 404 NoSuchBucket");
    await expect(listAll(gone)).rejects.toThrow("The bucket answered 404 NoSuchBucket");
  });

  test("because of wrong credentials is not retried", async () => {
    const wrong = createS3Blobs({ ...server.options, secretAccessKey: "wrong" }, systemClock);
    await expect(wrong.put(key, () => [CONTENT], 10)).rejects.toThrow("The bucket answered 403 SignatureDoesNotMatch");
    expect(server.requests).toHaveLength(1);
    expect(await read()).toBeNull();
  });

  test.each([9, 11])("content of the wrong length (%i) never becomes a complete request", async (bytes) => {
    await expect(blobs.put(key, () => [CONTENT], bytes)).rejects.toThrow(", got 10.");
    expect(server.completed).toEqual([]);
  });

  test("content that cannot be read is not retried", async () => {
    let opened = 0;
    const broken = async function* () {
      opened += 1;
      yield CONTENT;
      throw new Error("the source broke");
    };
    await expect(blobs.put(key, broken, 20)).rejects.toThrow("could not be read");
    expect(opened).toBe(1);
    expect(server.completed).toEqual([]);
  });
});
