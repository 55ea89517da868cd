import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makePrivateDirectory } from "./make-directory.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "promptd-folder-"));
  return () => rm(root, { recursive: true });
});

test("a folder is created with its missing parents, for its owner only; an existing folder is left as it is", async () => {
  const path = join(root, "a/b/c");
  for (let round = 0; round < 2; round += 1) await makePrivateDirectory(path);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

test("a file in the way is an error", async () => {
  await writeFile(join(root, "file"), "");
  await expect(makePrivateDirectory(join(root, "file"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makePrivateDirectory(join(root, "file/below"))).rejects.toMatchObject({ code: "ENOTDIR" });
});

test.runIf(process.platform === "linux")(
  "a location where no folder can exist is an error, not an endless attempt",
  async () => {
    await expect(makePrivateDirectory("/proc/promptd/data")).rejects.toMatchObject({ code: "ENOTSUP" });
  },
);
