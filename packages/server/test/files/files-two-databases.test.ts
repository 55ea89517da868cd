/** Blobs that more than one database may consider its own: the orphan sweep removes only blobs that it is sure of. */
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Files } from "../../src/files/index.ts";
import type { Log } from "../../src/platform/log.ts";
import { createLog } from "../../src/platform/log.ts";
import { startBucketServer, type BucketServer } from "./bucket-server.ts";
import {
  blobPath,
  HOUR_MS,
  storeImage,
  listBlobs,
  openFiles,
  recordOutputs,
  setDatabaseTime,
  sweepFiles,
  useFiles,
  type FilesRig,
} from "./files-fixture.ts";
import { openTestDatabase, type OpenTestDatabase } from "../support/test-database.ts";

const rig = useFiles();
let other: FilesRig;
let opened: OpenTestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

const warnings: { message: string; installationId: string }[] = [];
const log = {
  ...createLog("silent"),
  error: (fields: { installationId: string }, message: string) => void warnings.push({ ...fields, message }),
} as unknown as Log;

/** Sets both databases to a time when all blobs so far are old enough. */
async function makeOld(): Promise<void> {
  for (const name of await listBlobs(rig)) await utimes(blobPath(rig, name), rig.nowMs / 1_000, rig.nowMs / 1_000);
  rig.nowMs += 3 * HOUR_MS;
  other.nowMs = rig.nowMs;
  await Promise.all([rig, other].map((each) => setDatabaseTime(each, each.nowMs)));
}

/** Blobs of one installation, all but one with rows. */
async function fill(files: Files): Promise<string[]> {
  const stored = [];
  for (let i = 0; i < 11; i += 1) stored.push(await storeImage(files, rig.png));
  await recordOutputs(rig, files, stored.slice(1));
  await makeOld();
  return stored.map(({ fileId }) => fileId).sort();
}

const sweep = (files: Files) => sweepFiles(files, "files-orphans");
const blobs = async () => (await listBlobs(rig)).sort();
const markPath = () => join(rig.dataDir, "files", "installation");
/** What a database backup contains about the mark. */
const readRow = ({ db }: FilesRig) =>
  db.query<{ installation_id: string; seen: string; written: string }>("select * from blob_store_mark");
const writeRow = async ({ db }: FilesRig, [row]: Awaited<ReturnType<typeof readRow>>) => {
  await db.query("truncate blob_store_mark");
  if (row === undefined) return;
  const { installation_id, seen, written } = row;
  await db.query("insert into blob_store_mark (installation_id, seen, written) values ($1, $2, $3)", [
    installation_id,
    seen,
    written,
  ]);
};

beforeEach(async () => {
  other = { ...rig, db: opened.db };
  await other.db.query("truncate files, file_keys, blob_store_mark");
  await setDatabaseTime(other, other.nowMs);
  warnings.length = 0;
});

describe("the sweep of orphans", () => {
  test("removes nothing for an empty database that is started on another installation's files", async () => {
    const files = await openFiles(rig, { log });
    const made = await fill(files);
    const astray = await openFiles(other, { log });
    await sweep(astray); // before the owner ever swept: there is no mark yet
    expect([await blobs(), warnings.length]).toEqual([made, 1]);
    await sweep(files);
    expect([await blobs(), warnings.length]).toEqual([made.slice(1), 1]);
    await storeImage(files, rig.png);
    await makeOld();
    await sweep(astray);
    expect((await blobs()).length).toBe(11);
    expect(warnings[1]?.message).toContain("belong to another installation");
    await sweep(files);
    expect([await blobs(), warnings.length]).toEqual([made.slice(1), 2]);
  });

  test("continues after dying between its two records, twice in a row", async () => {
    const files = await openFiles(rig, { log });
    await sweep(files);
    const before = await readFile(markPath());
    for (let death = 0; death < 2; death += 1) {
      await sweep(files);
      await writeFile(markPath(), before);
    }
    const made = await fill(files);
    await sweep(files);
    expect([await blobs(), warnings]).toEqual([made.slice(1), []]);
  });

  test("stops in the original and in a copy that share files, before removing what only one of them knows", async () => {
    const files = await openFiles(rig, { log });
    await sweep(files);
    await writeRow(other, await readRow(rig));
    const copy = await openFiles(other, { log });
    await sweep(copy); // the copy's first sweep looks like the original's
    const made = await fill(files);
    await sweep(files);
    await sweep(copy);
    await sweep(files);
    expect([await blobs(), warnings.length]).toEqual([made, 3]);
    expect(warnings[0]?.message).toContain("a copy of this one");
    const installationId = warnings[0]?.installationId ?? "";
    await writeFile(markPath(), `${installationId}\n`); // the operator gave the copy its own storage
    await sweep(files);
    expect([await blobs(), warnings.length]).toEqual([made.slice(1), 3]);
  });

  test("waits for the operator in a database that was restored from an older backup", async () => {
    const files = await openFiles(rig, { log });
    await sweep(files);
    const backup = await readRow(rig);
    await sweep(files);
    await sweep(files);
    const made = await fill(files);
    await writeRow(rig, backup);
    const restored = await openFiles(rig, { log });
    await sweep(restored);
    expect([await blobs(), warnings.length]).toEqual([made, 1]);
    await writeFile(markPath(), warnings[0]?.installationId ?? "");
    await sweep(restored);
    expect([await blobs(), warnings.length]).toEqual([made.slice(1), 1]);
  });

  test("adopts files that lost their mark if the database has rows for them", async () => {
    const files = await openFiles(rig, { log });
    await sweep(files);
    const made = await fill(files);
    await rm(markPath());
    await sweep(files);
    expect([await blobs(), warnings]).toEqual([made.slice(1), []]);
    expect(await readFile(markPath(), "utf8")).toContain((await readRow(rig))[0]?.installation_id);
  });

  test("continues in a copy of an installation whose files were copied too", async () => {
    const files = await openFiles(rig, { log });
    await sweep(files);
    await writeRow(other, await readRow(rig));
    const dataDir = await mkdtemp(join(tmpdir(), "promptd-copy-"));
    const copied = await openFiles({ ...other, dataDir }, { log });
    await writeFile(join(dataDir, "files", "installation"), await readFile(markPath()));
    for (const each of [files, copied, files, copied]) await sweep(each);
    expect(warnings).toEqual([]);
    await rm(dataDir, { recursive: true });
  });

  test("trusts the earlier of the database's clock and its own", async () => {
    const files = await openFiles(rig, { log });
    await sweep(files);
    const made = await fill(files);
    rig.nowMs -= 3 * HOUR_MS;
    await sweep(files);
    expect(await blobs()).toEqual(made);
  });
});

describe("in a bucket", () => {
  let bucket: BucketServer;
  beforeAll(async () => {
    bucket = await startBucketServer();
  });
  afterAll(() => bucket.close());

  test("with two installations under one prefix, only the first sweeps", async () => {
    const [files, astray] = await Promise.all(
      [rig, other].map((each) => openFiles(each, { bucket: bucket.options, log })),
    );
    if (files === undefined || astray === undefined) throw new Error("Nothing was opened.");
    await sweep(files);
    await storeImage(files, rig.png);
    const removed = () => bucket.requests.filter((request) => request.startsWith("DELETE")).length;
    rig.nowMs = other.nowMs = Date.now() + 3 * HOUR_MS; // the bucket dates objects by the machine's clock
    await Promise.all([rig, other].map((each) => setDatabaseTime(each, each.nowMs)));
    await sweep(astray);
    expect([removed(), warnings.length]).toEqual([0, 1]);
    await sweep(files);
    expect([removed(), warnings.length]).toEqual([1, 1]);
    expect(await readdir(rig.dataDir)).toEqual([]);
  });
});
