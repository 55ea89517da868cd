import { chmod, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadOrCreateSecret, loadPreviousSecret } from "./server-secret.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "promptd-secret-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("the first start creates a secret that later starts use", async () => {
  const dataDir = join(directory, "new", "data");
  const made = await loadOrCreateSecret(dataDir);
  expect(made).toHaveLength(32);
  expect(await loadOrCreateSecret(dataDir)).toEqual(made);
  expect((await stat(join(dataDir, "secret"))).mode & 0o777).toBe(0o600);
  expect(await loadPreviousSecret(dataDir)).toBeNull();
});

test("simultaneous starts end up with one secret and leave no other files", async () => {
  const made = await Promise.all(Array.from({ length: 40 }, () => loadOrCreateSecret(directory)));
  expect(new Set(made.map((secret) => secret.toString("hex"))).size).toBe(1);
  expect(await readdir(directory)).toEqual(["secret"]);
});

test("a renamed file is the previous secret, and the next start creates a new one", async () => {
  const first = await loadOrCreateSecret(directory);
  await rename(join(directory, "secret"), join(directory, "secret.previous"));
  expect(await loadOrCreateSecret(directory)).not.toEqual(first);
  expect(await loadPreviousSecret(directory)).toEqual(first);
});

test("a secret that others can read is rejected", async () => {
  await loadOrCreateSecret(directory);
  await chmod(join(directory, "secret"), 0o644);
  await expect(loadOrCreateSecret(directory)).rejects.toThrow("chmod 600");
});

test.each(["", "short", "!".repeat(43)])(
  "a file that contains no secret is rejected, not replaced: %o",
  async (text) => {
    await writeFile(join(directory, "secret"), text, { mode: 0o600 });
    await expect(loadOrCreateSecret(directory)).rejects.toThrow("does not contain a secret");
  },
);
