import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBucketServer, type BucketServer } from "../../../test/files/bucket-server.ts";
import { systemClock } from "../../platform/clock.ts";
import { createIdSource } from "../../platform/ids.ts";
import type { BlobStore } from "./blob-store.ts";
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

async function read(): Promise<string | null> {
  const blob = await blobs.get(key, null);
  return blob === null ? null : Buffer.concat((await blob.body.toArray()) as Buffer[]).toString();
}

async function listAll(store: BlobStore, prefix = ""): Promise<string[]> {
  return (await Array.fromAsync(store.list(prefix, () => {}))).map((entry) => entry.key).sort();
}

test("a blob is an object with the bucket's prefix", async () => {
  await blobs.put(key, () => [CONTENT], 10);
  expect(server.requests[0]).toBe(`PUT /promptd-files/promptd/${key}`);
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

test("a key that is not a blob's is refused before anything is sent", async () => {
  await expect(blobs.get("../secret", null)).rejects.toThrow(TypeError);
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
