/**
 * PgBouncer 1.21 or newer for the tests: the machine's own, or one built from Debian's sources if this machine's release
 * has an older one. The build stays in /var/cache.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

const MINOR_MIN = 21;
/** Its pgbouncer is 1.24. */
const SOURCES = "trixie";
/** Not in root's home, where the unprivileged user that runs it could not reach it. */
const BUILT = "/var/cache/promptd/pgbouncer";
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
/** An unresponsive mirror costs only the PgBouncer tests, not the whole run. */
const STEP_MS_MAX = 600_000;
const TO_BUILD = ["gcc", "libc6-dev", "make", "pkg-config", "libevent-dev", "ca-certificates"];

/** @returns the path of the program; null if it is not available, which skips the tests that need it. */
export function ensurePgbouncer(): string | null {
  try {
    return findPgbouncer() ?? build();
  } catch (error) {
    console.error(`PgBouncer is not available, so its tests are skipped: ${String(error)}`);
    return null;
  }
}

function findPgbouncer(): string | undefined {
  const path = (process.env["PATH"] ?? "").split(delimiter).map((directory) => join(directory, "pgbouncer"));
  return [BUILT, ...path, "/usr/sbin/pgbouncer"].find((file) => existsSync(file) && isRecent(file));
}

function isRecent(file: string): boolean {
  const version = execFileSync(file, ["--version"], { encoding: "utf8" });
  return Number(/PgBouncer 1\.(?<minor>\d+)/.exec(version)?.groups?.["minor"] ?? 0) >= MINOR_MIN;
}

function build(): string {
  if (process.geteuid?.() !== 0 || !existsSync(KEYRING)) {
    throw new Error(`Install PgBouncer 1.${MINOR_MIN} or newer first.`);
  }
  const home = mkdtempSync(join(tmpdir(), "promptd-pgbouncer-"));
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = { stdio: "inherit", env, timeout: STEP_MS_MAX } as const;
  try {
    execFileSync("apt-get", ["update"], options);
    execFileSync("apt-get", ["install", "-y", "--no-install-recommends", ...TO_BUILD], options);
    const sources = downloadSources(home);
    const without = ["openssl", "cares", "pam", "systemd"].map((feature) => `--without-${feature}`);
    execFileSync(join(sources, "configure"), without, { ...options, cwd: sources });
    execFileSync("make", ["pgbouncer"], { ...options, cwd: sources });
    mkdirSync(dirname(BUILT), { recursive: true });
    execFileSync("cp", [join(sources, "pgbouncer"), `${BUILT}.new`]);
    renameSync(`${BUILT}.new`, BUILT);
    return BUILT;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** apt checks the signatures. It uses its own package lists here and leaves the machine's lists alone. */
function downloadSources(home: string): string {
  const list = join(home, "sources.list");
  writeFileSync(list, `deb-src [signed-by=${KEYRING}] http://deb.debian.org/debian ${SOURCES} main\n`);
  for (const directory of ["lists/partial", "cache/archives/partial"]) {
    mkdirSync(join(home, directory), { recursive: true });
  }
  const settings = {
    "Dir::Etc::sourcelist": list,
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State::lists": join(home, "lists"),
    "Dir::Cache": join(home, "cache"),
    "APT::Sandbox::User": "root",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  execFileSync("apt-get", [...flags, "update"], { cwd: home, stdio: "inherit", timeout: STEP_MS_MAX });
  execFileSync("apt-get", [...flags, "source", "--download-only", "pgbouncer"], {
    cwd: home,
    stdio: "inherit",
    timeout: STEP_MS_MAX,
  });
  const [archive = ""] = globSync("pgbouncer_*.orig.tar.gz", { cwd: home });
  execFileSync("tar", ["-xzf", archive], { cwd: home });
  return join(home, globSync("pgbouncer-*", { cwd: home })[0] ?? "");
}
