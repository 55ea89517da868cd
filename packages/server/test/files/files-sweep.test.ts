/** The sweeper removes files that expired or were never recorded, on time and once, on disk and in a bucket. */
import { mkdir, readdir, rename, rmdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createDiskBlobs } from "../../src/files/blobs/disk-blobs.ts";
import type { BlobStore } from "../../src/files/blobs/blob-store.ts";
import { createSpool, StorageFailure } from "../../src/files/index.ts";
import { createSweeps } from "../../src/files/outputs/sweep-files.ts";
import { enableFaults } from "../../src/platform/fault-injection.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import type { Tick } from "../../src/platform/periodic-work.ts";
import { startBucketServer } from "./bucket-server.ts";
import {
  blobPath,
  getFile,
  HOUR_MS,
  storeImage,
  storeInput,
  LIMITS,
  listBlobs,
  never,
  openFiles,
  OWNER,
  recordOutputs,
  setDatabaseTime,
  sweepFiles,
  useFiles,
} from "./files-fixture.ts";

const rig = useFiles();

/** The store with a different delete, such as a bucket that refuses to delete some objects. */
function withDelete(store: BlobStore, remove: BlobStore["delete"]): BlobStore {
  const own = (name: keyof BlobStore) => (name === "delete" ? remove : (store[name] as () => unknown).bind(store));
  return new Proxy(store, { get: (_, name) => own(name as keyof BlobStore) });
}

function sweepsOf(blobs: BlobStore): Tick[] {
  const clock = { nowMs: () => rig.nowMs };
  const spool = createSpool(join(rig.dataDir, "files", "incoming"));
  return createSweeps({ db: rig.db, blobs, spool, clock, newId: createIdSource(clock), log: createLog("silent") });
}

/** Orphans are removed when they are old by both clocks. */
async function setBothTimes(ms: number): Promise<void> {
  rig.nowMs = ms;
  await setDatabaseTime(rig, ms);
}

describe("the sweeper", () => {
  const states = () =>
    rig.db.query("select deleted_at is not null as marked, removed_at is not null as removed from files order by id");

  test("marks a file when it expires and removes its bytes an hour later; the row stays", async () => {
    const files = await openFiles(rig);
    const stored = await storeImage(files, rig.png);
    await recordOutputs(rig, files, [stored]);
    const at = async (ms: number) => {
      await setDatabaseTime(rig, ms);
      await sweepFiles(files, "files-expiry");
      return [await states(), (await listBlobs(rig)).length];
    };
    expect(await at(stored.expiresAtMs - 1)).toEqual([[{ marked: false, removed: false }], 1]);
    expect(await at(stored.expiresAtMs)).toEqual([[{ marked: true, removed: false }], 1]);
    expect(await at(stored.expiresAtMs + HOUR_MS - 1)).toEqual([[{ marked: true, removed: false }], 1]);
    expect(await at(stored.expiresAtMs + HOUR_MS)).toEqual([[{ marked: true, removed: true }], 0]);
    expect(await at(stored.expiresAtMs + 2 * HOUR_MS)).toEqual([[{ marked: true, removed: true }], 0]);
    rig.nowMs = stored.expiresAtMs;
    expect(await getFile(files, stored.url)).toMatchObject({ data: { reason: "FILE_EXPIRED" } });
  });

  test.each(["file.after_mark", "file.after_unlink"])(
    "if interrupted at %s, is completed by the next sweep",
    async (point) => {
      const files = await openFiles(rig);
      const stored = await storeImage(files, rig.png);
      await recordOutputs(rig, files, [stored]);
      await setDatabaseTime(rig, stored.expiresAtMs + HOUR_MS);
      enableFaults(`${point}:throw@1`);
      await expect(sweepFiles(files, "files-expiry")).rejects.toThrow("fault injected");
      await sweepFiles(files, "files-expiry");
      expect([await states(), await listBlobs(rig)]).toEqual([[{ marked: true, removed: true }], []]);
    },
  );

  test("skips a file that cannot be removed, and retries it at the next sweep", async () => {
    const files = await openFiles(rig);
    const stored = [];
    for (let i = 0; i < 3; i += 1) stored.push(await storeImage(files, rig.png));
    await recordOutputs(rig, files, stored);
    const stuck = blobPath(rig, stored[0]?.fileId ?? "");
    await rename(stuck, `${stuck}.aside`);
    await mkdir(stuck);
    await setDatabaseTime(rig, rig.nowMs + 26 * HOUR_MS);
    await sweepFiles(files, "files-expiry");
    const [removed, left] = [true, false].map((isRemoved) => ({ marked: true, removed: isRemoved }));
    expect(await states()).toEqual([left, removed, removed]);
    await rmdir(stuck);
    await sweepFiles(files, "files-expiry");
    expect(await states()).toEqual([removed, removed, removed]);
  });

  test("continues past more undeletable files than one sweep tries", async () => {
    const accountId = OWNER.accountId;
    await rig.db.query(
      `insert into files (id, account_id, run_id, attempt, kind, sha256, bytes, mime, generated_at, expires_at)
       select gen_random_uuid(), $1, $1, 0, 'input', decode(repeat('00', 32), 'hex'), 1, 'image/png', promptd_now(),
         promptd_now() + i * interval '1 millisecond' from generate_series(1, 701) i`,
      [accountId],
    );
    const [last] = await rig.db.query<{ id: string }>("select id from files order by expires_at desc limit 1");
    const tried: string[] = [];
    const store = await createDiskBlobs(join(rig.dataDir, "files"));
    const blobs = withDelete(store, async (key) => {
      tried.push(key);
      if (key !== last?.id) throw new Error("403");
    });
    const [expiry] = sweepsOf(blobs);
    await setDatabaseTime(rig, rig.nowMs + 2 * HOUR_MS);
    await expiry?.run();
    expect([tried.length, tried.includes(last?.id ?? "")]).toEqual([500, false]);
    await expiry?.run();
    expect([tried.length, new Set(tried).size]).toEqual([701, 701]);
    const rows = await rig.db.query("select id from files where removed_at is not null");
    expect(rows).toEqual([{ id: last?.id }]);
    await expiry?.run(); // and starts over with the oldest
    expect([tried.length, new Set(tried).size]).toEqual([1_201, 701]);
  });

  test.each([
    ["files-expiry", 0],
    ["files-orphans", 1],
  ])("%s stops between two files when the process stops, and the next sweep continues", async (_, index) => {
    const files = await openFiles(rig);
    await sweepFiles(files, "files-orphans");
    const stored = await Promise.all([1, 2, 3].map(() => storeImage(files, rig.png)));
    if (index === 0) await recordOutputs(rig, files, stored);
    for (const { fileId } of stored) await utimes(blobPath(rig, fileId), rig.nowMs / 1_000, rig.nowMs / 1_000);
    await setBothTimes(rig.nowMs + 26 * HOUR_MS);
    const stop = new AbortController();
    const store = await createDiskBlobs(join(rig.dataDir, "files"));
    const blobs = withDelete(store, async (key) => {
      await store.delete(key);
      stop.abort();
    });
    await sweepsOf(blobs)[index]?.run(stop.signal);
    expect(await listBlobs(rig)).toHaveLength(2);
    await sweepsOf(blobs)[index]?.run();
    expect(await listBlobs(rig)).toEqual([]);
    expect(await states()).toEqual(index === 0 ? stored.map(() => ({ marked: true, removed: true })) : []);
  });

  test("two concurrent sweeps do the work once between them", async () => {
    const files = await openFiles(rig);
    const stored = await Promise.all(Array.from({ length: 12 }, () => storeImage(files, rig.png)));
    await recordOutputs(rig, files, stored);
    await setDatabaseTime(rig, rig.nowMs + 26 * HOUR_MS);
    await Promise.all([sweepFiles(files, "files-expiry"), sweepFiles(files, "files-expiry")]);
    await sweepFiles(files, "files-expiry");
    expect(await states()).toEqual(stored.map(() => ({ marked: true, removed: true })));
    expect(await listBlobs(rig)).toEqual([]);
  });

  test("removes the inputs of a run an hour after its deadline", async () => {
    const files = await openFiles(rig);
    const stored = await storeInput(files, rig.png);
    await rig.db.tx((tx) => files.recordInputs(tx, OWNER, stored));
    const removedAtMs = rig.nowMs + 1_000 * OWNER.deadlineSeconds + HOUR_MS;
    await setDatabaseTime(rig, removedAtMs - 1);
    await sweepFiles(files, "files-expiry");
    expect(await listBlobs(rig)).toHaveLength(1);
    await setDatabaseTime(rig, removedAtMs);
    await sweepFiles(files, "files-expiry");
    expect(await listBlobs(rig)).toEqual([]);
  });

  /** The file system dates blobs too; this sets that date by the injected clock. */
  const dateBlobs = async (ms: number) => {
    for (const name of await listBlobs(rig)) await utimes(blobPath(rig, name), ms / 1_000, ms / 1_000);
  };

  test("removes a blob whose transaction never committed, after two hours, and no other blob", async () => {
    const files = await openFiles(rig);
    await sweepFiles(files, "files-orphans");
    const recorded = await storeImage(files, rig.png);
    await recordOutputs(rig, files, [recorded]);
    enableFaults("blob.after_rename:throw@1");
    await expect(storeImage(files, rig.png)).rejects.toThrow(StorageFailure);
    expect(await listBlobs(rig)).toHaveLength(2);
    await dateBlobs(rig.nowMs);
    await setBothTimes(rig.nowMs + 2 * HOUR_MS);
    await sweepFiles(files, "files-orphans");
    expect(await listBlobs(rig)).toHaveLength(2);
    await setBothTimes(rig.nowMs + 1);
    await sweepFiles(files, "files-orphans");
    await sweepFiles(files, "files-orphans");
    expect(await listBlobs(rig)).toEqual([recorded.fileId]);
  });

  test("removes the other orphans if something cannot be removed", async () => {
    const files = await openFiles(rig);
    await sweepFiles(files, "files-orphans");
    for (let i = 0; i < 3; i += 1) await storeImage(files, rig.png);
    await dateBlobs(rig.nowMs);
    for (const place of ["partial", "incoming"]) {
      const stuck = join(rig.dataDir, "files", place, "stuck"); // a directory: it cannot be unlinked
      await mkdir(stuck, { recursive: true });
      await utimes(stuck, 1, 1);
    }
    const [stuck = ""] = await listBlobs(rig);
    const store = await createDiskBlobs(join(rig.dataDir, "files"));
    const blobs = withDelete(store, async (key) => {
      if (key === stuck) throw new Error("403");
      await store.delete(key);
    });
    const [, orphans] = sweepsOf(blobs);
    await setBothTimes(rig.nowMs + 3 * HOUR_MS);
    await orphans?.run();
    expect(await listBlobs(rig)).toEqual([stuck]);
  });

  test("keeps a blob that only looks old, by its creator's clock or by the store's", async () => {
    const files = await openFiles(rig);
    await sweepFiles(files, "files-orphans");
    const start = rig.nowMs;
    rig.nowMs = start - 24 * HOUR_MS;
    await storeImage(files, rig.png);
    await dateBlobs(start);
    rig.nowMs = start;
    await storeImage(files, rig.png);
    await utimes(blobPath(rig, (await listBlobs(rig)).sort().at(-1) ?? ""), 1, 1);
    await setBothTimes(start + HOUR_MS);
    await sweepFiles(files, "files-orphans");
    expect(await listBlobs(rig)).toHaveLength(2);
  });

  test("removes leftovers of interrupted writes, and leaves unknown files alone", async () => {
    const files = await openFiles(rig);
    const partial = join(rig.dataDir, "files", "partial", `${OWNER.runId}.0123`);
    const strange = join(rig.dataDir, "files", "ab", "cd", "notes.txt");
    await mkdir(dirname(strange), { recursive: true });
    for (const path of [partial, strange]) {
      await writeFile(path, "x");
      await utimes(path, rig.nowMs / 1_000, rig.nowMs / 1_000);
    }
    await setBothTimes(rig.nowMs + 3 * HOUR_MS);
    await sweepFiles(files, "files-orphans");
    expect(await readdir(dirname(partial))).toEqual([]);
    expect(await readdir(dirname(strange))).toEqual(["notes.txt"]);
  });
});

test("treats files in a bucket like files on disk", async () => {
  const bucket = await startBucketServer();
  try {
    const files = await openFiles(rig, { bucket: bucket.options });
    const stored = await storeImage(files, rig.png);
    const inputs = await storeInput(files, rig.png);
    await recordOutputs(rig, files, [stored]);
    await rig.db.tx((tx) => files.recordInputs(tx, OWNER, inputs));
    expect(await getFile(files, stored.url, { range: "bytes=-4" })).toMatchObject({ status: 206 });
    expect(await getFile(files, stored.url, { method: "HEAD" })).toMatchObject({ status: 200, body: null });
    expect(await files.loadImages(inputs, LIMITS, never)).toMatchObject({ kind: "loaded" });
    await sweepFiles(files, "files-orphans");
    expect((await getFile(files, stored.url)).status).toBe(200);
    await setDatabaseTime(rig, rig.nowMs + 26 * HOUR_MS);
    await sweepFiles(files, "files-expiry");
    expect((await getFile(files, stored.url)).status).toBe("NOT_FOUND_ERROR"); // the server's own clock still stands before e
    expect(bucket.requests.filter((request) => request.startsWith("DELETE"))).toHaveLength(2);
    expect(await readdir(rig.dataDir)).toEqual([]);
  } finally {
    await bucket.close();
  }
});
