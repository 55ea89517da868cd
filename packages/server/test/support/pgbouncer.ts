/** A real PgBouncer in front of the test run's server. `npm run test:postgres` says where its program is. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { inject } from "vitest";
import { openConnection } from "../../src/platform/database/database.ts";
import { codeOf } from "../../src/platform/reason-of.ts";

/** Undefined in `npm test`, which installs nothing. */
export const PGBOUNCER = process.env["PROMPTD_TEST_PGBOUNCER"];

/** PgBouncer refuses to run as root. */
const UNPRIVILEGED = 65_534;
const START_MS_MAX = 10_000;
const PASSWORD = "of-the-test";

export interface Pgbouncer {
  /** The address of a test database through the pooler. */
  urlOf(databaseUrl: string): string;
  stop(): Promise<void>;
}

/** Set up as in docs/operations.md, with `changes`, for all databases or for the one that `entry` names. */
export async function startPgbouncer(changes: Readonly<Record<string, string>> = {}, entry = "*"): Promise<Pgbouncer> {
  const home = await mkdtemp(join(tmpdir(), "promptd-pgbouncer-"));
  const account = process.geteuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  const server = new URL(inject("database").url.replace("@/", "@localhost/"));
  const settings = {
    unix_socket_dir: home,
    listen_addr: "",
    listen_port: "6432",
    auth_type: "any",
    auth_file: join(home, "users.txt"),
    pool_mode: "transaction",
    max_prepared_statements: "200",
    default_pool_size: "4",
    max_client_conn: "200",
    ...changes,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const target = `host=${server.searchParams.get("host")} port=${server.searchParams.get("port")} user=${server.username}`;
  const file = join(home, "pgbouncer.ini");
  await writeFile(file, `[databases]\n${entry} = ${target}\n[pgbouncer]\n${lines.join("\n")}\n`);
  await writeFile(join(home, "users.txt"), `"${server.username}" "${PASSWORD}"\n`);
  await chmod(home, 0o755);
  if (account.uid !== undefined) await chown(home, account.uid, account.gid);
  const program = spawn(PGBOUNCER ?? "pgbouncer", [file], { ...account, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  program.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  const urlOf = (url: string) => {
    const pooled = new URL(url.replace("@/", "@localhost/"));
    pooled.searchParams.set("host", home);
    pooled.searchParams.set("port", "6432");
    pooled.password = PASSWORD; // only the setups with users require it
    return pooled.href.replace("@localhost/", "@/");
  };
  const stop = async () => {
    program.kill("SIGQUIT");
    if (program.exitCode === null && program.signalCode === null) await once(program, "exit");
    await rm(home, { recursive: true, force: true });
  };
  await untilItAnswers(urlOf(inject("database").url), () => program.exitCode !== null).catch(async (error: unknown) => {
    await stop();
    throw new Error(`PgBouncer did not start:\n${log}`, { cause: error });
  });
  return { urlOf, stop };
}

async function untilItAnswers(url: string, hasEnded: () => boolean): Promise<void> {
  const deadline = performance.now() + START_MS_MAX;
  for (;;) {
    const connection = openConnection(url, "pgbouncer-test", {});
    try {
      await connection.connect();
      return await connection.end();
    } catch (error) {
      if (codeOf(error)?.startsWith("08P") === true) return; // it responds, but admits nobody
      if (hasEnded() || performance.now() > deadline) throw error;
      await wait(20);
    }
  }
}
