import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "promptd-folder-"));
  return () => rm(root, { recursive: true });
});

test("a folder is created with its missing parents, and an existing one is left as it is", async () => {
  const path = join(root, "a/b/c");
  await makeFolder(path, 0o700);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  await chmod(path, 0o750);
  await makeFolder(path, 0o700);
  expect((await stat(path)).mode & 0o777).toBe(0o750);
});

test("a file in the way is an error", async () => {
  await writeFile(join(root, "file"), "");
  await expect(makeFolder(join(root, "file"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makeFolder(join(root, "file/below"))).rejects.toMatchObject({ code: "ENOTDIR" });
});

test.runIf(process.platform === "linux")(
  "a location where no folder can exist is an error, not an endless attempt",
  async () => {
    await expect(makeFolder("/proc/promptd/pictures")).rejects.toMatchObject({ code: "ENOTSUP" });
  },
);
