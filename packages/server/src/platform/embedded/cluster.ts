/** The cluster on disk: created once, completely or not at all, and never opened by another major version. */
import { execFile } from "node:child_process";
import { chmod, chown, lchown, lstat, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { faultPoint } from "../fault-injection.ts";
import type { Log } from "../log.ts";
import { codeOf } from "../reason-of.ts";
import { syncPath } from "../make-folder.ts";
import { DEFAULT_DB_UID, type ServerAccount } from "./os-account.ts";
import type { Binaries } from "./binaries.ts";
import type { ClusterFiles } from "./files.ts";

const DRAFT_PREFIX = "pg.init-";

export async function ensureCluster(files: ClusterFiles, binaries: Binaries, log: Log): Promise<void> {
  const major = await readFile(join(files.clusterDir, "PG_VERSION"), "utf8").catch(() => null);
  if (major === null) await createCluster(files, binaries, log);
  else refuseOtherMajor(major.trim(), binaries.major, files.clusterDir);
  await handOver(files.clusterDir, files.account);
  await writeAccessRules(files);
}

function refuseOtherMajor(found: string, ours: string, clusterDir: string): void {
  if (found === ours) return;
  throw new Error(
    `${clusterDir} was created by PostgreSQL ${found}, but this promptd contains PostgreSQL ${ours}, which cannot read ` +
      `it. Nothing was changed. Start the promptd version that created the directory, or run PostgreSQL ${found} on it ` +
      `yourself and set DATABASE_URL.`,
  );
}

/**
 * Runs `initdb` in a sibling directory and then renames it, so that a directory named `pg` always has a whole cluster.
 */
async function createCluster(files: ClusterFiles, binaries: Binaries, log: Log): Promise<void> {
  const startedMs = performance.now();
  await refuseStrangeContent(files.clusterDir);
  await removeDrafts(files.dataDir);
  const draft = await mkdtemp(join(files.dataDir, DRAFT_PREFIX));
  if (files.account.isForeign) await chown(draft, files.account.uid, files.account.gid);
  await runInitdb(binaries, draft, files.account);
  await faultPoint("embedded.init_mid");
  await rm(files.clusterDir, { recursive: true, force: true });
  await rename(draft, files.clusterDir);
  await syncPath(files.dataDir);
  log.info({ dataDir: files.dataDir, durationMs: Math.round(performance.now() - startedMs) }, "database created");
  if (files.account.isForeign && files.account.uid === DEFAULT_DB_UID) {
    log.info("the database runs as uid 65534, which other services may share; choose another with PROMPTD_DB_UID");
  }
}

/** Never replaces someone else's files; replaces an empty directory, such as a former mount point. */
async function refuseStrangeContent(clusterDir: string): Promise<void> {
  const entries = await readdir(clusterDir).catch(() => []);
  if (entries.length > 0)
    throw new Error(`${clusterDir} is not empty and is not a PostgreSQL cluster. Move it elsewhere.`);
}

async function removeDrafts(dataDir: string): Promise<void> {
  const drafts = (await readdir(dataDir)).filter((name) => name.startsWith(DRAFT_PREFIX));
  // If promptd was killed, its initdb may still be writing to its draft; the retries continue until it is done.
  for (const name of drafts) {
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

const INITDB_OPTIONS = [
  "--username=postgres",
  "--auth=trust", // replaced by writeAccessRules before any server starts
  "--encoding=UTF8",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  "--locale=C",
  "--data-checksums",
  "--no-instructions",
];

async function runInitdb(binaries: Binaries, directory: string, account: ServerAccount): Promise<void> {
  try {
    const options = childOptions(directory, account);
    await promisify(execFile)(binaries.initdb, [`--pgdata=${dataPath(directory, account)}`, ...INITDB_OPTIONS], {
      ...options,
      env: { ...options.env, LD_PRELOAD: binaries.passwdEntry },
      maxBuffer: 16 * 1024 * 1024,
    });
  } catch (cause) {
    throw explainChildFailure(cause, account);
  }
}

/**
 * Returns the path under which a child reaches its working directory. Another account cannot traverse /root or our
 * private data directory; /proc/self/cwd leads to the directory that the child was started in, without traversing the
 * path.
 */
export function dataPath(directory: string, account: ServerAccount): string {
  return account.isForeign ? "/proc/self/cwd" : directory;
}

/**
 * Sets the whole environment, so that nothing of ours (provider keys, database passwords, PG settings) reaches the
 * child.
 */
export function childOptions(directory: string, account: ServerAccount) {
  const identity = account.isForeign ? { uid: account.uid, gid: account.gid } : {};
  return { cwd: directory, env: { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }, ...identity };
}

export function explainChildFailure(cause: unknown, account: ServerAccount): Error {
  const code = codeOf(cause);
  if (code === "EPERM" || code === "EINVAL") {
    const text = `This root user cannot switch to uid ${account.uid}. Start promptd as an ordinary user, or set DATABASE_URL.`;
    return new Error(text, { cause });
  }
  const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : "";
  const reason = stderr !== "" || !(cause instanceof Error) ? stderr : cause.message;
  return new Error(`PostgreSQL could not create its files: ${reason}`, { cause });
}

/**
 * Changes the owner after PROMPTD_DB_UID changed or root copied a backup here. Runs only on the cluster, while no
 * server runs.
 */
async function handOver(path: string, account: ServerAccount): Promise<void> {
  const found = await lstat(path);
  if (!account.isForeign || found.uid === account.uid) return;
  if (found.isDirectory()) for (const name of await readdir(path)) await handOver(join(path, name), account);
  await lchown(path, account.uid, account.gid); // after the content, so that an interrupted walk starts again
}

/**
 * Writes who may connect. Only the cluster's owner and root can reach the socket at all. If the server runs under
 * another account, which other services may share, the peer must also be root.
 */
async function writeAccessRules(files: ClusterFiles): Promise<void> {
  const { account, clusterDir } = files;
  const rule = account.isForeign ? "local all all peer map=promptd\n" : "local all all trust\n";
  await writeOwned(join(clusterDir, "pg_hba.conf"), rule, account);
  if (account.isForeign) {
    await writeOwned(join(clusterDir, "pg_ident.conf"), `promptd ${userInfo().username} all\n`, account);
  }
}

async function writeOwned(file: string, text: string, account: ServerAccount): Promise<void> {
  const isThere = (await lstat(file).catch(() => null))?.isFile() === true;
  if (isThere && (await readFile(file, "utf8")) === text) return;
  const draft = `${file}.new`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  if (account.isForeign) await chown(draft, account.uid, account.gid);
  await rename(draft, file);
}
