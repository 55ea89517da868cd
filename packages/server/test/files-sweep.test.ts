/** The sweeper: what expired or was never recorded goes, in its time and once, on disk and in a bucket. */
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { StorageFailure } from "../src/files/index.ts";
import { enableFaults } from "../src/platform/fault.ts";
import { startBucketServer } from "./bucket-server.ts";
import {
  blobPath,
  getFile,
  HOUR_MS,
  keepImage,
  keepInput,
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

describe("the sweeper", () => {
  const states = () =>
    rig.db.query("select deleted_at is not null as marked, removed_at is not null as removed from files order by id");

  test("marks a file when it expires and removes its bytes an hour later; the row stays", async () => {
    const files = await openFiles(rig);
    const kept = await keepImage(files, rig.png);
    await recordOutputs(rig, files, [kept]);
    const at = async (ms: number) => {
      await setDatabaseTime(rig, ms);
      await sweepFiles(files, "files-expiry");
      return [await states(), (await listBlobs(rig)).length];
    };
    expect(await at(kept.expiresAtMs - 1)).toEqual([[{ marked: false, removed: false }], 1]);
    expect(await at(kept.expiresAtMs)).toEqual([[{ marked: true, removed: false }], 1]);
    expect(await at(kept.expiresAtMs + HOUR_MS - 1)).toEqual([[{ marked: true, removed: false }], 1]);
    expect(await at(kept.expiresAtMs + HOUR_MS)).toEqual([[{ marked: true, removed: true }], 0]);
    expect(await at(kept.expiresAtMs + 2 * HOUR_MS)).toEqual([[{ marked: true, removed: true }], 0]);
    rig.nowMs = kept.expiresAtMs;
    expect(await getFile(files, kept.url)).toMatchObject({ data: { reason: "FILE_EXPIRED" } });
  });

  test.each(["file.after_mark", "file.after_unlink"])(
    "broken off at %s, the next turn ends the work",
    async (point) => {
      const files = await openFiles(rig);
      const kept = await keepImage(files, rig.png);
      await recordOutputs(rig, files, [kept]);
      await setDatabaseTime(rig, kept.expiresAtMs + HOUR_MS);
      enableFaults(`${point}:throw@1`);
      await expect(sweepFiles(files, "files-expiry")).rejects.toThrow("fault injected");
      await sweepFiles(files, "files-expiry");
      expect([await states(), await listBlobs(rig)]).toEqual([[{ marked: true, removed: true }], []]);
    },
  );

  test("two turns at once do the work once between them", async () => {
    const files = await openFiles(rig);
    const kept = await Promise.all(Array.from({ length: 12 }, () => keepImage(files, rig.png)));
    await recordOutputs(rig, files, kept);
    await setDatabaseTime(rig, rig.nowMs + 26 * HOUR_MS);
    await Promise.all([sweepFiles(files, "files-expiry"), sweepFiles(files, "files-expiry")]);
    await sweepFiles(files, "files-expiry");
    expect(await states()).toEqual(kept.map(() => ({ marked: true, removed: true })));
    expect(await listBlobs(rig)).toEqual([]);
  });

  test("removes the inputs of a run a day after its longest life", async () => {
    const files = await openFiles(rig);
    const stored = await keepInput(files, rig.png);
    await rig.db.tx((tx) => files.recordInputs(tx, OWNER, stored));
    await setDatabaseTime(rig, rig.nowMs + 25.5 * HOUR_MS - 1);
    await sweepFiles(files, "files-expiry");
    expect(await listBlobs(rig)).toHaveLength(1);
    await setDatabaseTime(rig, rig.nowMs + 25.5 * HOUR_MS);
    await sweepFiles(files, "files-expiry");
    expect(await listBlobs(rig)).toEqual([]);
  });

  /** Blobs are dated by the file system as well; this puts that date beside the injected clock. */
  const dateBlobs = async (ms: number) => {
    for (const name of await listBlobs(rig)) await utimes(blobPath(rig, name), ms / 1_000, ms / 1_000);
  };

  test("removes a blob whose transaction never came, after two hours, and no other", async () => {
    const files = await openFiles(rig);
    const recorded = await keepImage(files, rig.png);
    await recordOutputs(rig, files, [recorded]);
    enableFaults("blob.after_rename:throw@1");
    await expect(keepImage(files, rig.png)).rejects.toThrow(StorageFailure);
    expect(await listBlobs(rig)).toHaveLength(2);
    await dateBlobs(rig.nowMs);
    await setDatabaseTime(rig, rig.nowMs + 2 * HOUR_MS);
    await sweepFiles(files, "files-orphans");
    expect(await listBlobs(rig)).toHaveLength(2);
    await setDatabaseTime(rig, rig.nowMs + 2 * HOUR_MS + 1);
    await sweepFiles(files, "files-orphans");
    await sweepFiles(files, "files-orphans");
    expect(await listBlobs(rig)).toEqual([recorded.fileId]);
  });

  test("keeps a blob that only looks old: by the maker's clock, or by the store's", async () => {
    const files = await openFiles(rig);
    const start = rig.nowMs;
    rig.nowMs = start - 24 * HOUR_MS;
    await keepImage(files, rig.png);
    await dateBlobs(start);
    rig.nowMs = start;
    await keepImage(files, rig.png);
    await utimes(blobPath(rig, (await listBlobs(rig)).sort().at(-1) ?? ""), 1, 1);
    await setDatabaseTime(rig, start + HOUR_MS);
    await sweepFiles(files, "files-orphans");
    expect(await listBlobs(rig)).toHaveLength(2);
  });

  test("removes what an interrupted write left, and leaves strange files alone", async () => {
    const files = await openFiles(rig);
    const partial = join(rig.dataDir, "files", "partial", `${OWNER.runId}.0123`);
    const strange = join(rig.dataDir, "files", "ab", "cd", "notes.txt");
    await mkdir(dirname(strange), { recursive: true });
    for (const path of [partial, strange]) {
      await writeFile(path, "x");
      await utimes(path, rig.nowMs / 1_000, rig.nowMs / 1_000);
    }
    await setDatabaseTime(rig, rig.nowMs + 3 * HOUR_MS);
    await sweepFiles(files, "files-orphans");
    expect(await readdir(dirname(partial))).toEqual([]);
    expect(await readdir(dirname(strange))).toEqual(["notes.txt"]);
  });
});

test("with a bucket in place of the disk, files live the same life", async () => {
  const bucket = await startBucketServer();
  try {
    const files = await openFiles(rig, { bucket: bucket.options });
    const kept = await keepImage(files, rig.png);
    const stored = await keepInput(files, rig.png);
    await recordOutputs(rig, files, [kept]);
    await rig.db.tx((tx) => files.recordInputs(tx, OWNER, stored));
    expect(await getFile(files, kept.url, { range: "bytes=-4" })).toMatchObject({ status: 206 });
    expect(await getFile(files, kept.url, { method: "HEAD" })).toMatchObject({ status: 200, body: null });
    expect(await files.loadImages(stored, LIMITS, never)).toMatchObject({ kind: "loaded" });
    await sweepFiles(files, "files-orphans");
    expect((await getFile(files, kept.url)).status).toBe(200);
    await setDatabaseTime(rig, rig.nowMs + 26 * HOUR_MS);
    await sweepFiles(files, "files-expiry");
    expect((await getFile(files, kept.url)).status).toBe("NOT_FOUND_ERROR"); // the server's own clock still stands before e
    expect(bucket.requests.filter((request) => request.startsWith("DELETE"))).toHaveLength(2);
    expect(await readdir(rig.dataDir)).toEqual([]);
  } finally {
    await bucket.close();
  }
});
