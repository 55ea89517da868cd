/** The database of a chaos run: the embedded server under its supervisor, or the machine's PostgreSQL under pg_ctl. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openConnection } from "../../packages/server/src/platform/database/database.ts";
import { findPostmaster } from "../../packages/server/src/platform/embedded/postmaster.ts";
import { startEmbeddedPostgres } from "../../packages/server/src/platform/embedded/supervise.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";

export interface ChaosDatabase {
  readonly url: string;
  /** For amcheck. */
  readonly superuserUrl: string;
  readonly version: string;
  /** Stops the server immediately, like a crash, and makes sure it restarts. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

const UNPRIVILEGED = 65_534;
const SETTINGS = { max_connections: "200" };

export async function startChaosDatabase(kind: "embedded" | "postgres", home: string): Promise<ChaosDatabase> {
  const server = kind === "embedded" ? await startEmbedded(home) : await startSystem(home);
  return { ...server, version: await readVersion(server.url) };
}

async function startEmbedded(home: string): Promise<Omit<ChaosDatabase, "version">> {
  const dataDir = join(home, "embedded");
  const server = await startEmbeddedPostgres({ dataDir, log: createLog("silent", "stderr"), settings: SETTINGS });
  return {
    url: server.url,
    superuserUrl: server.url.replace("promptd@/", "postgres@/"),
    crash: async () => {
      const pid = await findPostmaster(join(dataDir, "pg"));
      if (pid === null) throw new Error("There is no postmaster to crash.");
      process.kill(pid, "SIGQUIT"); // immediate shutdown; the supervisor starts it again
    },
    stop: () => server.stop(),
  };
}

async function startSystem(home: string): Promise<Omit<ChaosDatabase, "version">> {
  const programs = findPrograms();
  const isRoot = process.geteuid?.() === 0;
  const surroundings = {
    ...(isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}),
    cwd: "/",
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
  };
  const place = join(home, "system");
  mkdirSync(place, { mode: 0o755 });
  if (isRoot) for (const directory of [home, place]) chownSync(directory, UNPRIVILEGED, UNPRIVILEGED);
  const data = join(place, "data");
  const prepare = (program: string, args: readonly string[], input = "") =>
    execFileSync(join(programs, program), args, { ...surroundings, input, stdio: "pipe" });
  prepare("initdb", ["-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
  const sql = "create role promptd login;\ngrant pg_monitor to promptd;\ncreate database promptd owner promptd;\n";
  prepare("postgres", ["--single", "-D", data, "postgres"], sql);
  const options = `-c listen_addresses= -c unix_socket_directories=${place} -c max_connections=200`;
  /** Not awaited here: callers, proxy, and freezes continue while the server is down. */
  async function control(verb: "start" | "restart" | "stop", mode: string): Promise<void> {
    const args = [verb, "-D", data, "-l", join(place, "log"), "-m", mode, "-w", "-o", options];
    const child = spawn(join(programs, "pg_ctl"), args, { ...surroundings, stdio: "ignore" });
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`pg_ctl ${verb} -m ${mode} ended with ${code}.`);
  }
  await control("start", "fast");
  const url = `postgresql://promptd@/promptd?host=${encodeURIComponent(place)}&port=5432`;
  return {
    url,
    superuserUrl: url.replace("promptd@/", "postgres@/"),
    crash: () => control("restart", "immediate"),
    stop: () => control("stop", "immediate"),
  };
}

function findPrograms(): string {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian)
    ? readdirSync(debian)
        .filter((name) => Number(name) >= 15)
        .sort()
    : [];
  const [oldest] = versions;
  if (oldest === undefined) throw new Error("No PostgreSQL 15 or newer in /usr/lib/postgresql.");
  return join(debian, oldest, "bin");
}

async function readVersion(url: string): Promise<string> {
  const connection = openConnection(url, "chaos");
  await connection.connect();
  const { rows } = await connection.query<{ version: string }>("select current_setting('server_version') as version");
  await connection.end();
  return `PostgreSQL ${rows[0]?.version ?? "?"}`;
}
