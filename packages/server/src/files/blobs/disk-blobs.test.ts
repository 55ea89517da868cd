import { mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDiskBlobs } from "./disk-blobs.ts";
import type { BlobStore } from "./blob-store.ts";

const KEY = "01a1f874-6c4e-7f02-8a44-9e2d6c1b7f50";
const OTHER = "01a1f874-6c4e-7f02-8a44-9e2d6c1bab51";
const CONTENT = Buffer.from("0123456789");

let directory: string;
let root: string;
let blobs: BlobStore;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "promptd-blobs-"));
  root = join(directory, "files");
  blobs = await createDiskBlobs(root);
});
afterEach(() => rm(directory, { recursive: true }));

async function read(key: string): Promise<string | null> {
  const blob = await blobs.get(key, null);
  return blob === null ? null : Buffer.concat((await blob.body.toArray()) as Buffer[]).toString();
}

async function listAll(prefix = ""): Promise<string[]> {
  return (await Array.fromAsync(blobs.list(prefix, never))).map(({ key }) => key).sort();
}

const never = (cause: unknown): never => {
  throw cause;
};
const pathOf = (key: string) => join(root, key.slice(-4, -2), key.slice(-2), key);
const partials = () => readdir(join(root, "partial"));

test("a range may be the first byte alone, which the test's bucket cannot give", async () => {
  await blobs.put(KEY, () => [CONTENT], 10);
  expect((await blobs.get(KEY, { kind: "from", start: 0, end: 0 }))?.part).toEqual({ start: 0, end: 0 });
});

test("nobody but the server's user can read a blob", async () => {
  await blobs.put(KEY, () => [CONTENT], 10);
  expect((await stat(pathOf(KEY))).mode & 0o777).toBe(0o600);
  expect((await stat(root)).mode & 0o077).toBe(0);
});

describe("a put that goes wrong leaves nothing to be read and nothing behind", () => {
  test("content of another length", async () => {
    await expect(blobs.put(KEY, () => [CONTENT], 9)).rejects.toThrow(", got 10.");
    expect(await partials()).toEqual([]);
  });

  test("a stream that breaks", async () => {
    const broken = async function* () {
      yield CONTENT;
      throw new Error("the source broke");
    };
    await expect(blobs.put(KEY, broken, 10)).rejects.toThrow("the source broke");
    expect([await read(KEY), await partials()]).toEqual([null, []]);
  });

  test("a directory that cannot be written to", async () => {
    await writeFile(join(root, KEY.slice(-4, -2)), "a file where a directory belongs");
    await expect(blobs.put(KEY, () => [CONTENT], 10)).rejects.toThrow(/EEXIST|ENOTDIR/);
    expect(await partials()).toEqual([]);
  });
});

describe("nothing outside the store can be reached", () => {
  test("a symbolic link in place of a blob counts as absent, and is not listed", async () => {
    const outside = join(directory, "outside");
    await writeFile(outside, "private");
    await mkdir(dirname(pathOf(KEY)), { recursive: true });
    await symlink(outside, pathOf(KEY));
    expect([await read(KEY), await blobs.size(KEY), await listAll()]).toEqual([null, null, []]);
  });

  test("a symbolic link in place of a directory is not followed", async () => {
    const elsewhere = join(directory, "elsewhere");
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, KEY), "private");
    await mkdir(dirname(dirname(pathOf(KEY))), { recursive: true });
    await symlink(elsewhere, dirname(pathOf(KEY)));
    expect([await read(KEY), await listAll()]).toEqual([null, []]);
  });

  test("a directory in a blob's place counts as absent", async () => {
    await mkdir(pathOf(KEY), { recursive: true });
    expect([await read(KEY), await blobs.size(KEY), await listAll()]).toEqual([null, null, []]);
  });
});

test("a listing stays within its prefix and skips what is not a blob", async () => {
  await blobs.put(KEY, () => [CONTENT], 10);
  await blobs.put(OTHER, () => [CONTENT], 10);
  await writeFile(join(dirname(pathOf(KEY)), "notes.txt"), "not ours");
  expect(await listAll()).toEqual([KEY, OTHER].sort());
  expect(await listAll(OTHER)).toEqual([OTHER]);
  expect(await listAll("ffff")).toEqual([]);
});

test("leftovers of interrupted writes are discarded by age, but blobs never are", async () => {
  await blobs.put(KEY, () => [CONTENT], 10);
  const [old, young] = [join(root, "partial", `${OTHER}.old`), join(root, "partial", `${OTHER}.young`)];
  await writeFile(old, "x");
  await writeFile(young, "x");
  await utimes(old, 1_000, 1_000);
  await utimes(pathOf(KEY), 1_000, 1_000);
  await blobs.discardPartial(2_000_000, never);
  expect(await partials()).toEqual([`${OTHER}.young`]);
  expect(await read(KEY)).toBe("0123456789");
});
