/** The files of one embedded database: where they are, who owns them, and how a client reaches the socket. */
import { createHash } from "node:crypto";
import { chmod, lstat, readdir, readlink, realpath, symlink, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeDataDirFailure } from "../reason-of.ts";
import { chooseServerAccount, ownIds, type ServerAccount } from "./os-account.ts";
import { makeFolder } from "../make-folder.ts";

export interface ClusterFiles {
  readonly dataDir: string;
  /** The cluster: the server's working directory, with its socket. Mode 0700, owned by the server's account. */
  readonly clusterDir: string;
  readonly logFile: string;
  readonly lockFile: string;
  /** Where clients find the socket: the cluster, or a short link to it if its path is too long for a socket. */
  readonly socketDir: string;
  readonly account: ServerAccount;
}

/** 107 bytes fit into a Linux socket address, 103 on other systems, including the name that the server appends. */
const SOCKET_PATH_BYTES_MAX = 103;
const SOCKET_NAME = "/.s.PGSQL.5432";

/**
 * Whether a database was created here, or is being created. Errors other than a missing file are left to startup to
 * report.
 */
export async function hasCluster(dataDir: string): Promise<boolean> {
  const isThere = (path: string) =>
    lstat(join(dataDir, path)).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
    );
  return (await isThere("pg/PG_VERSION")) || (await isThere("pg.lock"));
}

export async function prepareClusterFiles(dataDir: string, dbUid: number): Promise<ClusterFiles> {
  try {
    await ensureDataDir(dataDir);
    const real = await realpath(dataDir);
    const clusterDir = join(real, "pg");
    const cluster = (await lstat(clusterDir).catch(() => null))?.uid ?? null;
    const files: ClusterFiles = {
      dataDir: real,
      clusterDir,
      logFile: join(real, "pg.log"),
      lockFile: join(real, "pg.lock"),
      socketDir: chooseSocketDir(clusterDir),
      account: await chooseServerAccount({ dataDir: (await lstat(real)).uid, cluster }, dbUid),
    };
    await ensureSocketLink(files);
    return files;
  } catch (cause) {
    throw new Error(describeDataDirFailure(dataDir, cause), { cause });
  }
}

/** Makes the directory private if only we use it: it is new, empty, or already has a cluster. */
async function ensureDataDir(dataDir: string): Promise<void> {
  await makeFolder(dataDir, 0o700);
  const entries = await readdir(dataDir);
  const { uid, mode } = await lstat(dataDir);
  const isOurs = entries.length === 0 || entries.includes("pg");
  if (isOurs && uid === ownIds().uid && (mode & 0o077) !== 0) await chmod(dataDir, 0o700);
}

function chooseSocketDir(clusterDir: string): string {
  if (Buffer.byteLength(clusterDir + SOCKET_NAME) <= SOCKET_PATH_BYTES_MAX) return clusterDir;
  const hash = createHash("sha256").update(clusterDir).digest("hex").slice(0, 16);
  return join(tmpdir(), `promptd-pg-${ownIds().uid}-${hash}`);
}

/**
 * Creates the short link, again if a cleanup of temporary files removed it. A link that someone else created could lead
 * clients to another server, so it is refused.
 */
export async function ensureSocketLink(files: Pick<ClusterFiles, "socketDir" | "clusterDir">): Promise<void> {
  const { socketDir, clusterDir } = files;
  if (socketDir === clusterDir) return;
  const found = await lstat(socketDir).catch(() => null);
  if (found !== null) {
    const isOurs = found.isSymbolicLink() && found.uid === ownIds().uid;
    if (!isOurs)
      throw new Error(`${socketDir} exists but was not created by promptd; remove it or choose a shorter path`);
    if ((await readlink(socketDir)) === clusterDir) return;
    await unlink(socketDir);
  }
  await symlink(clusterDir, socketDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") return; // another promptd process was faster
    const next = `Choose a shorter path, or let this user write to ${tmpdir()}.`;
    throw new Error(
      `its path is long and needs the link ${socketDir}, which cannot be created (${error.code}). ${next}`,
    );
  });
}

export async function removeSocketLink(files: Pick<ClusterFiles, "socketDir" | "clusterDir">): Promise<void> {
  if (files.socketDir !== files.clusterDir) await unlink(files.socketDir).catch(() => {});
}

/** Includes everything that PGPORT or PGSSLMODE in the environment could otherwise change. */
export function databaseUrl(files: Pick<ClusterFiles, "socketDir">, role: string, database: string): string {
  return `postgresql://${role}@/${database}?host=${encodeURIComponent(files.socketDir)}&port=5432&sslmode=disable`;
}
