/** The embedded database when promptd, its server, or both are killed: who notices, and what the next start finds. */
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import {
  ask,
  cleanUp,
  createDataDir,
  isAnswering,
  isServerAlive,
  readServerPid,
  serverPid,
  startUser,
} from "../platform/embedded-process.ts";
import { until } from "../support/promptd-process.ts";

afterEach(cleanUp);

function superuser(url: string): string {
  return url.replace("promptd@/promptd", "postgres@/postgres");
}

describe("the first start", () => {
  it("killed while it creates the cluster leaves nothing that the next one opens", async () => {
    const dataDir = await createDataDir();
    await expect(startUser(dataDir, { faults: "embedded.init_mid:kill" })).rejects.toThrow("SIGKILL");
    const left = await readdir(dataDir);
    expect(left).not.toContain("pg");
    expect(left.filter((name) => name.startsWith("pg.init-"))).toHaveLength(1);
    const { url } = await startUser(dataDir);
    expect(await isAnswering(url)).toBe(true);
    expect((await readdir(dataDir)).filter((name) => name.startsWith("pg.init-"))).toEqual([]);
  });

  it("killed before the server is ready lets the next one join that server", async () => {
    const dataDir = await createDataDir();
    await expect(startUser(dataDir, { faults: "embedded.before_ready:kill" })).rejects.toThrow("SIGKILL");
    const { url } = await startUser(dataDir);
    expect(await ask(url, "select current_database()")).toBe("promptd");
  });
});

describe("several processes on one data directory", () => {
  it("restart a killed server, once, with its data", async () => {
    const dataDir = await createDataDir();
    const users = await Promise.all([startUser(dataDir), startUser(dataDir)]);
    const [{ url }] = users;
    await ask(url, "create table kept as select 7 as n");
    const pid = await serverPid(dataDir);
    process.kill(pid, "SIGKILL");
    await until(async () => (await readServerPid(dataDir)) !== pid && (await isAnswering(url)));
    expect(await ask(url, "select n from kept")).toBe(7);
    // Both noticed and both have a session again: the last one to leave still stops it.
    const held = `select count(*)::int from pg_stat_activity where application_name like 'promptd:embedded:%'`;
    await until(async () => (await ask(url, held)) === 2);
    const next = await serverPid(dataDir);
    await users[0].stop();
    expect(await isServerAlive(next)).toBe(true);
    await users[1].stop();
    expect(await isServerAlive(next)).toBe(false);
  });
});

describe("after kill -9", () => {
  it("of promptd alone, the next start joins the living server and finds the data", async () => {
    const dataDir = await createDataDir();
    const first = await startUser(dataDir);
    await ask(first.url, "create table kept as select 7 as n");
    const pid = await serverPid(dataDir);
    await first.kill();
    const second = await startUser(dataDir);
    expect(await serverPid(dataDir)).toBe(pid);
    expect(await ask(second.url, "select n from kept")).toBe(7);
    await second.stop();
    expect(await isServerAlive(pid)).toBe(false);
  });

  it("of promptd and the server, the next start recovers the data", async () => {
    const dataDir = await createDataDir();
    const first = await startUser(dataDir);
    await ask(first.url, "create table kept as select 7 as n");
    process.kill(await serverPid(dataDir), "SIGKILL");
    await first.kill();
    const second = await startUser(dataDir);
    expect(await ask(second.url, "select n from kept")).toBe(7);
  });

  it("an orphaned part of the old server is waited for", async () => {
    const dataDir = await createDataDir();
    const first = await startUser(dataDir);
    const checkpointer = Number(
      await ask(superuser(first.url), "select pid from pg_stat_activity where backend_type = 'checkpointer'"),
    );
    process.kill(checkpointer, "SIGSTOP");
    process.kill(await serverPid(dataDir), "SIGKILL");
    await first.kill();
    const starting = startUser(dataDir);
    const readLog = () => readFile(join(dataDir, "pg.log"), "utf8");
    await until(async () => (await readLog()).includes("pre-existing shared memory block"));
    process.kill(checkpointer, "SIGCONT");
    expect(await isAnswering((await starting).url)).toBe(true);
  });

  it("and a reused process id, neither the start lock nor the server's pid file is in the way", async () => {
    const dataDir = await createDataDir();
    const first = await startUser(dataDir);
    await first.stop();
    await symlink(`${process.pid}-1`, join(dataDir, "pg.lock")); // this process lives, but started at another time
    await writeFile(join(dataDir, "pg/postmaster.pid"), `${process.pid}\n/nowhere\n1\n5432\n.\n\n  1 1\nready\n`);
    const second = await startUser(dataDir);
    expect(await isAnswering(second.url)).toBe(true);
  });
});
