import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeReadFailure, describeWriteFailure } from "./file-failure.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "promptd-file-failure-"));
  await writeFile(join(directory, "file"), "x");
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const failed = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );
/** The system's error for a user without permission. Simulated, because tests may run as root. */
const failure = (code: string) => Object.assign(new Error(`${code}: something, open 'x'`), { code });

describe("a file that cannot be read", () => {
  const describeIt = (name: string, error: unknown) => describeReadFailure(name, error, "name an image in it");

  test("does not exist, is a directory, or has a path through a file", async () => {
    const read = (name: string) => failed(readFile(join(directory, name)));
    expect(describeIt("a.png", await read("a.png"))).toBe("There is no file a.png. Check the name.");
    expect(describeIt("file/a", await read("file/a"))).toBe("There is no file file/a. Check the name.");
    expect(describeIt(".", await read("."))).toBe(". is a directory; name an image in it.");
  });

  test("is not readable by the user, or fails in another way, of which only the code is shown", () => {
    const forbidden =
      "You do not have permission to read a.png. Change its permissions, or run the command as its owner.";
    expect(describeIt("a.png", failure("EACCES"))).toBe(forbidden);
    expect(describeIt("a.png", failure("EPERM"))).toBe(forbidden);
    expect(describeIt("a.png", failure("EIO"))).toBe("a.png could not be read (EIO). Check the file and its disk.");
    expect(describeIt("a.png", "no error")).toBe("a.png could not be read. Check the file and its disk.");
  });

  test("is named without control characters", () => {
    expect(describeIt("a\u001b[2J.png", failure("ENOENT"))).not.toContain("\u001b");
  });
});

describe("a file that cannot be written", () => {
  test("has no folder, no permission, or no space", async () => {
    const below = await failed(mkdir(join(directory, "file/deeper"), { recursive: true }));
    expect(describeWriteFailure("file/deeper", below)).toBe(
      "file/deeper cannot be written: part of its path is a file, not a folder. Choose another path.",
    );
    const onto = await failed(mkdir(join(directory, "file"), { recursive: true }));
    expect(describeWriteFailure("file", onto)).toBe(
      "file cannot be written: part of its path is a file, not a folder. Choose another path.",
    );
    const nowhere = await failed(writeFile(join(directory, "none/x"), "x"));
    expect(describeWriteFailure("none/x", nowhere)).toBe(
      "none/x cannot be written: its folder does not exist. Create the folder, or choose another path.",
    );
    const over = await failed(writeFile(directory, "x"));
    expect(describeWriteFailure("d", over)).toBe("d cannot be written: it is a folder. Choose another path.");
    expect(describeWriteFailure("d", failure("EACCES"))).toBe(
      "d cannot be written: permission denied. Change the permissions, or choose another path.",
    );
    expect(describeWriteFailure("d", failure("ENOSPC"))).toBe(
      "d cannot be written: the disk is full. Free some space on it.",
    );
    expect(describeWriteFailure("d", failure("ENOTSUP"))).toBe(
      "d cannot be written: no folder can be created there. Choose another path.",
    );
    expect(describeWriteFailure("d", failure("EROFS"))).toBe(
      "d cannot be written: its disk is read-only. Choose another path.",
    );
    expect(describeWriteFailure("d", failure("EIO"))).toBe("d could not be written (EIO). Check the disk.");
  });
});
