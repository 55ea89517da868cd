import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeDataDirFailure, describeFileFailure, reasonOf } from "./reason-of.ts";

let directory: string;
let file: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "promptd-file-failure-"));
  file = join(directory, "file");
  await writeFile(file, "x");
});
afterAll(() => rm(directory, { recursive: true }));

const failed = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );
/** The system's error for a user without permission; tests may run as root. */
const failure = (code: string) => Object.assign(new Error(`${code}: something`), { code, syscall: "open", path: "/a" });

test("a folder that cannot be created is described in our own words, with what to do next", async () => {
  const make = (path: string) => failed(mkdir(path, { recursive: true }));
  expect(describeFileFailure(await make(file), "It")).toBe(
    "It cannot be used: it is a file, not a folder. Choose another path.",
  );
  expect(describeFileFailure(await make(join(file, "deeper")), "It")).toBe(
    "It cannot be used: part of its path is not a folder. Choose another path.",
  );
  const link = join(directory, "link");
  await symlink(join(directory, "nowhere/deeper"), link);
  expect(describeFileFailure(await make(link), "It")).toBe("It cannot be used: it does not exist. Check the path.");
});

test("a file that cannot be read is described the same way, by its path if it has no other name", async () => {
  expect(describeFileFailure(await failed(readFile(directory)), "It")).toBe(
    "It cannot be used: it is a folder, not a file. Check the path.",
  );
  const missing = join(directory, "missing");
  expect(describeFileFailure(await failed(readFile(missing)))).toBe(
    `${missing} cannot be used: it does not exist. Check the path.`,
  );
  const link = join(missing, "link");
  expect(describeFileFailure(await failed(symlink("1-2", link)))).toBe(
    `${link} cannot be used: it does not exist. Check the path.`,
  );
});

test.each([
  ["EACCES", "permission denied. Change its permissions, or start promptd as its owner."],
  ["EPERM", "permission denied. Change its permissions, or start promptd as its owner."],
  ["ENOSPC", "its disk is full. Free up space."],
  ["EDQUOT", "its disk is full. Free up space."],
  ["EROFS", "its disk is read-only. Make it writable, or choose another path."],
  ["EIO", "the system reports EIO. Check the path and its disk."],
])("%s is described in our own words", (code, words) => {
  expect(describeFileFailure(failure(code))).toBe(`/a cannot be used: ${words}`);
});

test("failures that are not about a file are not described", () => {
  expect(describeFileFailure(new Error("no"), "It")).toBeNull();
  expect(describeFileFailure(Object.assign(new Error("no"), { code: "28P01" }), "It")).toBeNull();
  const away = Object.assign(new Error("no"), { code: "ECONNREFUSED", syscall: "connect" });
  expect(describeFileFailure(away)).toBeNull();
});

test("a fault of the data directory that we found ourselves is reported unchanged", () => {
  expect(describeDataDirFailure("/d", failure("EROFS"))).toBe(
    "The data directory /d (PROMPTD_DATA_DIR) cannot be used: its disk is read-only. Make it writable, or choose another path.",
  );
  expect(describeDataDirFailure("/d", new Error("it belongs to uid 7."))).toBe(
    "The data directory /d (PROMPTD_DATA_DIR) cannot be used: it belongs to uid 7.",
  );
});

test("a failure for several addresses reports the failure of each", () => {
  const both = new AggregateError([
    new Error("connect ECONNREFUSED ::1:5432"),
    new Error("connect ECONNREFUSED 127.0.0.1:5432"),
  ]);
  expect(reasonOf(both)).toBe("connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432");
  expect(reasonOf(new AggregateError([new Error("inner")], "outer"))).toBe("outer");
  expect(reasonOf("no error")).toBe("no error");
});

test("a fetch that failed says why", async () => {
  const fetched = await failed(fetch("http://127.0.0.1:1/")); // a port that fetch itself refuses
  expect(reasonOf(fetched)).toBe("bad port");
  const refused = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:9001") });
  expect(reasonOf(refused)).toBe("connect ECONNREFUSED 127.0.0.1:9001");
  expect(reasonOf(new TypeError("fetch failed"))).toBe("fetch failed");
});
