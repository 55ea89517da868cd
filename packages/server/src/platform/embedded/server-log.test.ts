import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { logSize, openServerLog, readLogTail, rotateServerLog } from "./server-log.ts";

it("the server's log is truncated while the server has it open, one older file is kept, and its end can be read", async () => {
  const directory = await mkdtemp(join(tmpdir(), "promptd-log-"));
  const file = join(directory, "pg.log");
  const writer = await openServerLog(file);
  await writer.write("small\n");
  await rotateServerLog(file);
  expect(await readFile(file, "utf8")).toBe("small\n");

  await writer.write("x".repeat(8 * 1024 * 1024));
  await rotateServerLog(file);
  expect(await logSize(file)).toBe(0);
  expect((await stat(`${file}.1`)).size).toBeGreaterThan(8 * 1024 * 1024);

  await writer.write(`${Array.from({ length: 30 }, (_, n) => `line ${n}`).join("\n")}\n`);
  expect((await readLogTail(file, 0)).split("\n").at(-1)).toBe("line 29");
  expect((await readLogTail(file, 0)).split("\n")).toHaveLength(12);
  const size = await logSize(file);
  await writer.write("after\n");
  expect(await readLogTail(file, size)).toBe("after");

  const refused =
    "FATAL:  the database system is not yet accepting connections\nDETAIL:  Consistent recovery state has not been yet reached.\n";
  await writer.write(`PANIC:  could not write to file: No space left on device\n${refused.repeat(20)}`);
  expect(await readLogTail(file, size)).toBe("after\nPANIC:  could not write to file: No space left on device");
  await writer.close();
  await rm(directory, { recursive: true });
});
