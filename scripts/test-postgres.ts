/**
 * Runs the SQL tests on a throwaway PostgreSQL from the machine's own programs: the oldest version found, at least 15,
 * because the embedded server covers the newest. Arguments select tests, as for `vitest run`. Installs PostgreSQL and
 * PgBouncer on Debian if they are missing.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { chooseDirectory, THROWAWAY_SETTINGS } from "../packages/server/test/support/throwaway-server.ts";
import { ensurePgbouncer } from "./pgbouncer.ts";

const ROOT = join(import.meta.dirname, "..");
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");
const MAJOR_MIN = 15;
/** A test that does not import this file, even indirectly, would use the same server as in `npm test`. */
const DATABASE_OF_TESTS = "packages/server/test/support/test-database.ts";
/**
 * Tests that use a database but are about something else: HTTP, a client, a provider, the file store, a process, ranking.
 * Other tests send the same statements to the database (docs/decisions/2026-11-27-what-tests-cost.md).
 */
const NOT_ABOUT_SQL = [
  "bench/chaos/**", // a chaos run on this server verifies itself with the same statements
  "packages/cli/test/{browser-sign-in,operator-accounts,operator-prompts,own-prompts}.test.ts",
  "packages/console/**",
  "packages/server/src/models/calls/{call-choice,call-model,call-outputs,output-schema,provider-jobs}.test.ts",
  "packages/server/test/{conform,console,files,http,models,providers}/**",
  "packages/server/test/mcp/mcp-tools.test.ts",
  "packages/server/test/people/{manage-foreign,manage-roles,sign-in-services}.test.ts",
  "packages/server/test/prompts/{roles,sample-from-run}.test.ts",
  "packages/server/test/runs/{author-share,last-poll,late-requests,mask}.test.ts",
  "packages/server/test/runs/{refused-creates,run-events,run-log,run-once,web-search-price,waiting*}.test.ts",
  "packages/server/test/search/search-{embed-batches,kill,overload,quality,robustness,titles}.test.ts",
  "packages/server/test/wire/{authentication,authorization,envelope,order-of-checks,paths-and-methods,prompt-run-options}*",
  "packages/server/test/wire/{cancel-run,create-run.*,files.410,get-me.200,get-prompt,get-run}.test.ts",
  "packages/server/test/wire/{python-client,rate-limit.429,resources,run-states,sandbox-directives,search-prompts}.test.ts",
];
/** `nobody`, because PostgreSQL refuses to run as root. */
const UNPRIVILEGED = 65_534;
const READY_MS_MAX = 60_000;

const isRoot = process.geteuid?.() === 0;
const account = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
const environment = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

process.exitCode = await main();

async function main(): Promise<number> {
  const programs = findPrograms() ?? installPrograms();
  // Named like the directories of global-setup.ts, which removes what a killed run has left behind.
  const home = mkdtempSync(join(await chooseDirectory(), `promptd-test-${process.pid}-`));
  if (isRoot) chownSync(home, UNPRIVILEGED, UNPRIVILEGED);
  process.on("SIGINT", () => {}); // Ctrl-C also reaches Vitest; this script must outlive it to stop the server
  try {
    return await testOn(programs, home);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function testOn(programs: string, home: string): Promise<number> {
  const data = join(home, "server/pg");
  createCluster(programs, data);
  const server = await startServer(programs, home, data);
  try {
    return await runVitest(`postgresql://promptd@/postgres?host=${encodeURIComponent(home)}&port=5432&sslmode=disable`);
  } finally {
    server.kill("SIGINT");
    if (server.exitCode === null) await once(server, "exit");
  }
}

/** The directory of the oldest usable version; null when there is none. */
function findPrograms(): string | null {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).map((name) => join(debian, name, "bin")) : [];
  const usable = [...versions, ...(process.env["PATH"] ?? "").split(delimiter)]
    .filter((directory) => existsSync(join(directory, "initdb")) && existsSync(join(directory, "postgres")))
    .map((directory) => ({ directory, major: readMajor(directory) }))
    .filter(({ major }) => major >= MAJOR_MIN)
    .sort((left, right) => left.major - right.major);
  return usable[0]?.directory ?? null;
}

function readMajor(directory: string): number {
  const text = execFileSync(join(directory, "postgres"), ["--version"], { encoding: "utf8" });
  return Number(/\(PostgreSQL\) (?<major>\d+)/.exec(text)?.groups?.["major"] ?? 0);
}

function installPrograms(): string {
  if (!isRoot || !existsSync("/usr/bin/apt-get")) {
    throw new Error(`Install PostgreSQL ${MAJOR_MIN} or newer first; on Debian: sudo apt-get install postgresql`);
  }
  const options = { stdio: "inherit", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } } as const;
  execFileSync("apt-get", ["update"], options);
  execFileSync("apt-get", ["install", "-y", "--no-install-recommends", "postgresql"], options);
  const found = findPrograms();
  if (found === null) throw new Error(`This Debian's PostgreSQL is older than ${MAJOR_MIN}.`);
  return found;
}

/** The tests' role is not a superuser, as promptd's role is not. */
function createCluster(programs: string, data: string): void {
  const options = { ...account, env: environment, cwd: "/" };
  const initdb = ["-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
  execFileSync(join(programs, "initdb"), initdb, { ...options, stdio: ["ignore", "ignore", "inherit"] });
  const input = "create role promptd login createdb;\ngrant pg_monitor to promptd;\n";
  execFileSync(join(programs, "postgres"), ["--single", "-D", data, "postgres"], { ...options, input, stdio: "pipe" });
}

async function startServer(programs: string, home: string, data: string): Promise<ChildProcess> {
  const settings = { ...THROWAWAY_SETTINGS, listen_addresses: "", unix_socket_directories: home };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const logFile = join(home, "postgres.log");
  const log = openSync(logFile, "a");
  const server = spawn(join(programs, "postgres"), ["-D", data, ...flags], {
    ...account,
    env: environment,
    cwd: "/",
    detached: true,
    stdio: ["ignore", log, log],
  });
  await once(server, "spawn");
  closeSync(log);
  const deadline = performance.now() + READY_MS_MAX;
  while (!isReady(data)) {
    if (server.exitCode !== null || performance.now() > deadline) {
      server.kill("SIGINT");
      throw new Error(`PostgreSQL did not start:\n${readFileSync(logFile, "utf8")}`);
    }
    await wait(20);
  }
  console.log(`Testing on PostgreSQL ${readMajor(programs)} from ${programs}.`);
  return server;
}

function isReady(data: string): boolean {
  const file = join(data, "postmaster.pid");
  return existsSync(file) && /^ready\s*$/m.test(readFileSync(file, "utf8"));
}

async function runVitest(url: string): Promise<number> {
  const chosen = process.argv.slice(2);
  const all = ["related", "--run", DATABASE_OF_TESTS, ...NOT_ABOUT_SQL.map((glob) => `--exclude=${glob}`)];
  const command = chosen.length > 0 ? ["run", ...chosen] : all;
  const pgbouncer = ensurePgbouncer();
  const pooler = pgbouncer === null ? {} : { PROMPTD_TEST_PGBOUNCER: pgbouncer };
  const env = { ...process.env, PROMPTD_TEST_DATABASE_URL: url, ...pooler };
  const vitest = spawn(process.execPath, [VITEST, ...command], { cwd: ROOT, env, stdio: "inherit" });
  process.on("SIGTERM", () => vitest.kill("SIGTERM"));
  const [code] = (await once(vitest, "exit")) as [number | null];
  return code ?? 1;
}
