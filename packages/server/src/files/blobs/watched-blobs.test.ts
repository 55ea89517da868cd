import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/promptd-process.ts";
import { createLog } from "../../platform/log.ts";
import { createDiskBlobs } from "./disk-blobs.ts";
import { StorageFailure, type BlobStore } from "./blob-store.ts";
import { createSpool } from "./spool.ts";
import { watchStorage } from "./watched-blobs.ts";

const KEY = "01a1f874-6c4e-7f02-8a44-9e2d6c1b7f50";
const CONTENT = Buffer.alloc(300_000, 1);

let root: string;
let inner: BlobStore;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "promptd-watched-"));
  inner = await createDiskBlobs(root);
  await inner.put(KEY, () => [CONTENT], CONTENT.byteLength);
});
afterEach(() => rm(root, { recursive: true }));

const watch = (store: BlobStore): BlobStore =>
  watchStorage(store, createSpool(join(root, "incoming")), {
    newId: () => KEY,
    log: createLog("silent"),
    monotonicMs: () => 0,
  }).blobs;

async function open(store: BlobStore): Promise<Readable> {
  const blob = await watch(store).get(KEY, null);
  if (blob === null) throw new Error("The blob is gone.");
  return blob.body;
}

/** The store, with a different body but the same announced size. */
const delivering = (body: Readable): BlobStore =>
  Object.assign(Object.create(inner) as BlobStore, {
    get: async () => ({ body, size: CONTENT.byteLength, part: null }),
  });

/** This process's open file descriptors for files of the store. */
async function openDescriptors(): Promise<number> {
  const names = await readdir("/proc/self/fd");
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  return targets.filter((target) => target.startsWith(root)).length;
}

describe("a file that is read", () => {
  test("arrives complete", async () => {
    expect(Buffer.concat((await (await open(inner)).toArray()) as Buffer[]).equals(CONTENT)).toBe(true);
  });

  test.runIf(process.platform === "linux")(
    "is closed when its reader goes away, before the first byte or in the middle",
    async () => {
      const bodies = await Promise.all(Array.from({ length: 20 }, () => open(inner)));
      for (const body of bodies.slice(10)) await body[Symbol.asyncIterator]().next();
      expect(await openDescriptors()).toBe(20);
      for (const body of bodies) body.destroy();
      await until(async () => (await openDescriptors()) === 0);
    },
  );

  test("is closed even while its store is silent", async () => {
    const silent = new Readable({ read: () => {} });
    const body = await open(delivering(silent));
    body.resume();
    await yieldToEventLoop();
    body.destroy();
    await until(() => silent.closed);
    expect(silent.destroyed).toBe(true);
  });

  test("that breaks off, or ends early, is a storage failure", async () => {
    const breaking = new Readable({ read: () => breaking.destroy(new Error("EIO")) });
    const closing = new Readable({ read: () => closing.destroy() });
    for (const source of [breaking, closing, Readable.from([Buffer.alloc(10)], { objectMode: false })]) {
      await expect((await open(delivering(source))).toArray()).rejects.toThrow(StorageFailure);
    }
  });

  test("that breaks off before anybody reads it ends only its own reading", async () => {
    const source = new Readable({ read: () => {} });
    const body = await open(delivering(source));
    source.destroy(new Error("EIO"));
    await until(() => source.closed);
    await expect(body.toArray()).rejects.toThrow(StorageFailure);
  });
});

describe("whether files can be stored", () => {
  const full = (): BlobStore =>
    Object.assign(Object.create(inner) as BlobStore, { put: () => Promise.reject(new Error("ENOSPC")) });
  const watchAt = (store: BlobStore, clock: { ms: number }) =>
    watchStorage(store, createSpool(join(root, "incoming")), {
      newId: () => KEY,
      log: createLog("silent"),
      monotonicMs: () => clock.ms,
    });

  test("is tested before the first answer", async () => {
    expect(await watchAt(inner, { ms: 0 }).isReady()).toBe(true);
    expect(await watchAt(full(), { ms: 0 }).isReady()).toBe(false);
  });

  test("is tested again in the background if nothing was written for half a minute", async () => {
    const clock = { ms: 0 };
    const store = Object.assign(Object.create(inner) as BlobStore, { put: inner.put.bind(inner) });
    const storage = watchAt(store, clock);
    expect(await storage.isReady()).toBe(true);
    store.put = () => Promise.reject(new Error("ENOSPC"));
    clock.ms = 29_999;
    expect([await storage.isReady(), await storage.isReady()]).toEqual([true, true]);
    clock.ms = 30_000;
    expect(await storage.isReady()).toBe(true);
    await until(async () => !(await storage.isReady()));
  });
});
