/** The embedded database with real processes: who starts it, who stops it, and who may connect. */
import { execFile } from "node:child_process";
import { appendFile, chmod, chown, lstat, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { backOffMs, startEmbeddedPostgres } from "../../src/platform/embedded/supervise.ts";
import { createLog } from "../../src/platform/log.ts";
import {
  ask,
  cleanUp,
  createDataDir,
  isAnswering,
  isReadableForAll,
  isRoot,
  isServerAlive,
  NOBODY,
  readServerPid,
  serverPid,
  startUser,
} from "./embedded-process.ts";

const canRunAsOther = isRoot && (await isReadableForAll(import.meta.dirname));

/** Not an account of this machine. */
const NAMELESS = 54_321;

afterEach(cleanUp);

describe("the first start", () => {
  it("creates a private cluster that never loses what it has acknowledged and does not listen on a network", async () => {
    const dataDir = await createDataDir();
    const { url } = await startUser(dataDir);
    const settings = await ask(
      url,
      `select json_object_agg(name, setting) from pg_settings where name in ('listen_addresses', 'full_page_writes',
       'synchronous_commit', 'data_checksums', 'max_connections', 'jit', 'server_encoding', 'log_min_error_statement')`,
    );
    expect(settings).toEqual({
      listen_addresses: "",
      full_page_writes: "on",
      synchronous_commit: "on",
      data_checksums: "on",
      max_connections: "60",
      jit: "off",
      server_encoding: "UTF8",
      log_min_error_statement: "panic",
    });
    const locale = "select datlocprovider::text || datlocale from pg_database where datname = current_database()";
    expect(await ask(url, locale)).toBe("bC.UTF-8");
    expect(await ask(url, "select current_user || '@' || current_database()")).toBe("promptd@promptd");
    expect(await ask(url, "select rolsuper from pg_roles where rolname = current_user")).toBe(false);
    for (const path of [dataDir, join(dataDir, "pg")]) expect((await lstat(path)).mode & 0o777).toBe(0o700);
  });

  it("passes neither promptd's environment nor its terminal to the server", async () => {
    const dataDir = await createDataDir();
    await startUser(dataDir);
    const pid = await serverPid(dataDir);
    const names = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").map((entry) => entry.split("=")[0]);
    expect(new Set(names)).toEqual(new Set(["LC_ALL", "PATH", "TZ", ""]));
    const session = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ")[3];
    expect(Number(session)).toBe(pid);
  });

  it("by two processes at the same time starts one server", async () => {
    const dataDir = await createDataDir();
    const users = await Promise.all([startUser(dataDir), startUser(dataDir), startUser(dataDir)]);
    const starts = users.map(({ url }) => ask(url, "select pg_postmaster_start_time()::text"));
    expect(new Set(await Promise.all(starts)).size).toBe(1);
    await expect(ask(users[0].url, "select pg_read_file('PG_VERSION')")).rejects.toThrow("permission denied");
  });
});

describe("several processes on one data directory", () => {
  it("share one server, which the last of them stops", async () => {
    const dataDir = await createDataDir();
    const first = await startUser(dataDir);
    const pid = await serverPid(dataDir);
    const second = await startUser(dataDir);
    expect(await serverPid(dataDir)).toBe(pid);
    await first.stop();
    expect(await isAnswering(second.url)).toBe(true);
    await second.stop();
    expect(await isServerAlive(pid)).toBe(false);
    expect(await readServerPid(dataDir)).toBe(null);
  });

  it("leave no server behind when they stop at the same time", async () => {
    const dataDir = await createDataDir();
    const first = await startUser(dataDir);
    const second = await startUser(dataDir);
    const pid = await serverPid(dataDir);
    await Promise.all([first.stop(), second.stop()]);
    expect(await isServerAlive(pid)).toBe(false);
  });
});

describe("the start", () => {
  it("serves a data directory whose path is too long for a socket address", async () => {
    const dataDir = await createDataDir();
    const deep = join(dataDir, "a".repeat(60), "b".repeat(60));
    const first = await startUser(deep);
    const second = await startUser(deep);
    expect(decodeURIComponent(second.url)).not.toContain("a".repeat(60));
    expect(await isAnswering(second.url)).toBe(true);
    await first.stop();
    await second.stop();
    expect(await isAnswering(second.url)).toBe(false);
  });

  it("refuses a cluster of another major version and leaves it as it was", async () => {
    const dataDir = await createDataDir();
    await mkdir(join(dataDir, "pg"), { recursive: true });
    await writeFile(join(dataDir, "pg/PG_VERSION"), "17\n");
    await expect(startUser(dataDir)).rejects.toThrow(
      /created by PostgreSQL 17, but this promptd contains PostgreSQL 18.*Nothing was changed/,
    );
    expect(await readdir(join(dataDir, "pg"))).toEqual(["PG_VERSION"]);
  });

  it("reports what the server said if it does not start, and backs off from one second to thirty", async () => {
    const dataDir = await createDataDir();
    const first = await startUser(dataDir);
    await first.stop();
    await appendFile(join(dataDir, "pg/postgresql.conf"), "\nno_such_setting = 1\n");
    await expect(startUser(dataDir)).rejects.toThrow(/did not start.*pg\.log:[^]*no_such_setting/);
    expect([0, 1, 2, 3, 4, 5, 6, 50].map(backOffMs)).toEqual([0, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
  });

  it("leaves no server behind if it is abandoned", async () => {
    const dataDir = await createDataDir();
    const options = { dataDir, log: createLog("error"), signal: AbortSignal.abort(new Error("changed my mind")) };
    await expect(startEmbeddedPostgres(options)).rejects.toThrow("changed my mind");
    expect(await readdir(dataDir)).not.toContain("pg.lock");
    const cluster = await lstat(join(dataDir, "pg"));
    const directories = (await readdir("/proc")).map((name) => stat(`/proc/${name}/cwd`).catch(() => null));
    expect((await Promise.all(directories)).some((found) => found?.ino === cluster.ino)).toBe(false);
  });

  it("refuses someone else's files under the cluster's name", async () => {
    const dataDir = await createDataDir();
    await mkdir(join(dataDir, "pg"), { recursive: true });
    await writeFile(join(dataDir, "pg/diary.txt"), "dear diary");
    await expect(startUser(dataDir)).rejects.toThrow("is not empty and is not a PostgreSQL cluster");
    expect(await readFile(join(dataDir, "pg/diary.txt"), "utf8")).toBe("dear diary");
  });
});

describe.runIf(isRoot)("root", () => {
  it("runs the server as an unprivileged user in a directory that this user cannot reach on its own", async () => {
    const dataDir = await createDataDir();
    await startUser(dataDir);
    expect((await lstat(`/proc/${await serverPid(dataDir)}`)).uid).toBe(NOBODY);
    expect((await lstat(join(dataDir, ".."))).mode & 0o077).toBe(0);
    expect((await lstat(dataDir)).uid).toBe(0);
  });

  it("changes the cluster's owner when the database user changes", async () => {
    const dataDir = await createDataDir();
    const first = await startUser(dataDir, { dbUid: NOBODY });
    await ask(first.url, "create table kept as select 7 as n");
    await first.stop();
    const second = await startUser(dataDir, { dbUid: 2 });
    expect((await lstat(`/proc/${await serverPid(dataDir)}`)).uid).toBe(2);
    expect(await ask(second.url, "select n from kept")).toBe(7);
  });
});

describe.runIf(canRunAsOther)("other accounts of the machine", () => {
  it("cannot connect, not even as the server's own user", async () => {
    const dataDir = await createDataDir();
    const { url } = await startUser(dataDir);
    // Even through the server's own working directory, the only way in, only root may connect.
    const socketDir = `/proc/${await serverPid(dataDir)}/cwd`;
    const stranger = url.replace(/host=[^&]*/, `host=${encodeURIComponent(socketDir)}`);
    expect(await isAnswering(stranger)).toBe(true);
    const script = `import(${JSON.stringify(import.meta.resolve("pg"))}).then(async ({ default: pg }) => {
      const client = new pg.Client({ connectionString: ${JSON.stringify(stranger)} });
      await client.connect().then(() => console.log("in"), (error) => console.log(error.message)); process.exit(); })`;
    const asStranger = promisify(execFile)(process.execPath, ["-e", script], { uid: NOBODY, gid: NOBODY, cwd: "/" });
    expect((await asStranger).stdout).toContain("authentication failed");
  });

  it.each([
    ["runs as such a user without a home", { uid: NAMELESS }],
    ["runs as root on such a user's directory", {}],
  ])("a uid without a passwd entry gets its database: promptd %s", async (_how, options) => {
    const dataDir = await createDataDir(NAMELESS);
    await mkdir(dataDir);
    await chown(dataDir, NAMELESS, NAMELESS);
    const { url } = await startUser(dataDir, options);
    expect((await lstat(`/proc/${await serverPid(dataDir)}`)).uid).toBe(NAMELESS);
    expect(await ask(url, "select current_user")).toBe("promptd");
  });

  it("an ordinary user runs the server under its own account, and root then continues it as that user", async () => {
    const dataDir = await createDataDir(NOBODY);
    const user = await startUser(dataDir, { uid: NOBODY });
    await ask(user.url, "create table kept as select 7 as n");
    expect((await lstat(`/proc/${await serverPid(dataDir)}`)).uid).toBe(NOBODY);
    await user.stop();
    const root = await startUser(dataDir);
    expect(await ask(root.url, "select n from kept")).toBe(7);
    await root.stop();
    const again = await startUser(dataDir, { uid: NOBODY });
    expect(await ask(again.url, "select n from kept")).toBe(7);
  });

  it("a data directory that belongs to someone else is refused by name", async () => {
    const dataDir = await createDataDir();
    await mkdir(dataDir);
    await chmod(join(dataDir, ".."), 0o755);
    await chmod(dataDir, 0o755);
    await expect(startUser(dataDir, { uid: NOBODY })).rejects.toThrow(
      /belongs to uid 0, but this process runs as uid 65534/,
    );
    await expect(startUser(join(dataDir, "inside"), { uid: NOBODY })).rejects.toThrow(
      /PROMPTD_DATA_DIR.*permission denied/,
    );
  });
});
