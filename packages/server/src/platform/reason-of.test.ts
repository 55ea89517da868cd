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
/** What the system says to a user without rights; tests may run as one who has all. */
const failure = (code: string) => Object.assign(new Error(`${code}: something`), { code, syscall: "open", path: "/a" });

test("a folder that cannot be made is told without the system's words, and with what to do", async () => {
  const make = (path: string) => failed(mkdir(path, { recursive: true }));
  expect(describeFileFailure(await make(file), "It")).toBe(
    "It is not usable: it is a file, not a folder. Choose another path.",
  );
  expect(describeFileFailure(await make(join(file, "deeper")), "It")).toBe(
    "It is not usable: a part of its path is not a folder. Choose another path.",
  );
  const link = join(directory, "link");
  await symlink(join(directory, "nowhere/deeper"), link);
  expect(describeFileFailure(await make(link), "It")).toBe("It is not usable: it is not there. Check its path.");
});

test("a file that cannot be read is told in the same way, by its path where it has no other name", async () => {
  expect(describeFileFailure(await failed(readFile(directory)), "It")).toBe(
    "It is not usable: it is a folder, not a file. Check its path.",
  );
  const missing = join(directory, "missing");
  expect(describeFileFailure(await failed(readFile(missing)))).toBe(
    `${missing} is not usable: it is not there. Check its path.`,
  );
});

test.each([
  ["EACCES", "this user has no right to it. Change its permissions, or start promptd as its owner."],
  ["EPERM", "this user has no right to it. Change its permissions, or start promptd as its owner."],
  ["ENOSPC", "its disk is full. Make room on it."],
  ["EDQUOT", "its disk is full. Make room on it."],
  ["EROFS", "its disk can only be read. Choose another path."],
  ["EIO", "the system refuses it (EIO). Check it and its disk."],
])("%s is said in our words", (code, words) => {
  expect(describeFileFailure(failure(code))).toBe(`/a is not usable: ${words}`);
});

test("what is no failure of a file is left to others", () => {
  expect(describeFileFailure(new Error("no"), "It")).toBeNull();
  expect(describeFileFailure(Object.assign(new Error("no"), { code: "28P01" }), "It")).toBeNull();
  const away = Object.assign(new Error("no"), { code: "ECONNREFUSED", syscall: "connect" });
  expect(describeFileFailure(away)).toBeNull();
});

test("of the data directory, a fault that we found ourselves is told as it is", () => {
  expect(describeDataDirFailure("/d", failure("EROFS"))).toBe(
    "The data directory /d (PROMPTD_DATA_DIR) is not usable: its disk can only be read. Choose another path.",
  );
  expect(describeDataDirFailure("/d", new Error("it belongs to uid 7."))).toBe(
    "The data directory /d (PROMPTD_DATA_DIR) is not usable: it belongs to uid 7.",
  );
});

test("a failure of several addresses is told as that of each", () => {
  const both = new AggregateError([
    new Error("connect ECONNREFUSED ::1:5432"),
    new Error("connect ECONNREFUSED 127.0.0.1:5432"),
  ]);
  expect(reasonOf(both)).toBe("connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432");
  expect(reasonOf(new AggregateError([new Error("inner")], "outer"))).toBe("outer");
  expect(reasonOf("no error")).toBe("no error");
});

test("a fetch that failed says why", async () => {
  const fetched = await failed(fetch("http://127.0.0.1:1/")); // a port that fetch refuses by itself
  expect(reasonOf(fetched)).toBe("bad port");
  const refused = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:9001") });
  expect(reasonOf(refused)).toBe("connect ECONNREFUSED 127.0.0.1:9001");
  expect(reasonOf(new TypeError("fetch failed"))).toBe("fetch failed");
});
