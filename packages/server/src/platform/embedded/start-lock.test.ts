import { mkdtemp, readdir, readlink, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withStartLock } from "./start-lock.ts";

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "promptd-lock-"));
});
afterEach(() => rm(directory, { recursive: true }));

describe("the start lock", () => {
  it("admits one process at a time, takes over the lock of a dead process, and leaves nothing behind", async () => {
    const file = join(directory, "lock");
    await symlink("4194304-1", file); // above every Linux process id
    let inside = 0;
    let most = 0;
    const enter = () =>
      withStartLock(file, async () => {
        inside += 1;
        most = Math.max(most, inside);
        expect(await readlink(file)).toMatch(new RegExp(`^${process.pid}-\\d+$`));
        await yieldToEventLoop();
        inside -= 1;
      });
    await Promise.all(Array.from({ length: 12 }, enter));
    expect(most).toBe(1);
    expect(await readdir(directory)).toEqual([]);
  });

  it("is free again after a failure, and reports the holder to a process that waits too long", async () => {
    const file = join(directory, "lock");
    const failing = withStartLock(file, () => Promise.reject(new Error("no luck")));
    await expect(failing).rejects.toThrow("no luck");
    await withStartLock(file, async () => {
      const second = withStartLock(file, () => Promise.resolve(), { waitMsMax: 0 });
      await expect(second).rejects.toThrow(`Process ${process.pid}-`);
    });
  });
});
