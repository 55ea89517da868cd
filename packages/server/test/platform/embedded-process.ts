/** Real processes on one data directory, for embedded.test.ts: start, kill, check, clean up. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openConnection } from "../../src/platform/database/database.ts";
import { COMPILE_CACHE, until } from "../support/promptd-process.ts";

export const NOBODY = 65_534;
export const isRoot = process.geteuid?.() === 0;

export interface UserOptions {
  readonly faults?: string;
  readonly dbUid?: number;
  /** Runs the promptd process itself under this account; needs root. */
  readonly uid?: number;
}

export interface User {
  readonly pid: number;
  readonly url: string;
  /** Stops cleanly: resolves when the process has exited. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

type Message = { kind: "ready"; url: string } | { kind: "failed"; message: string };

const children = new Set<ChildProcess>();
const directories = new Set<string>();

export async function createDataDir(owner?: number): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "promptd-embedded-"));
  directories.add(directory);
  if (owner !== undefined) await chown(directory, owner, owner);
  return join(directory, "data");
}

/** @throws Error with the refusal's message, or with the signal that ended the process. */
export async function startUser(dataDir: string, options: UserOptions = {}): Promise<User> {
  const child = forkUser(dataDir, options);
  const message = await nextMessage(child);
  if (message.kind === "failed") throw new Error(message.message);
  return {
    pid: child.pid ?? 0,
    url: message.url,
    stop: async () => {
      const ended = once(child, "exit");
      child.send("stop");
      await ended;
    },
    kill: () => end(child, "SIGKILL"),
  };
}

function forkUser(dataDir: string, { faults = "", dbUid, uid }: UserOptions): ChildProcess {
  const home = uid === undefined || uid === NOBODY ? { HOME: "/nonexistent" } : {};
  const child = fork(join(import.meta.dirname, "embedded-user.ts"), {
    execArgv: ["--conditions=promptd-source"],
    env: {
      PATH: "/usr/bin:/bin",
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...home,
      PROVIDER_KEY: "must not reach the server",
    },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  child.stderr?.pipe(process.stderr);
  children.add(child);
  child.once("exit", () => children.delete(child));
  child.send({ dataDir, faults, dbUid });
  return child;
}

async function nextMessage(child: ChildProcess): Promise<Message> {
  const message = once(child, "message").then(([value]) => value as Message);
  const exit = once(child, "exit").then(([code, signal]) => {
    throw new Error(`ended by ${signal ?? code}`);
  });
  return Promise.race([message, exit]);
}

async function end(child: ChildProcess, signal: "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

/** Also ends what a failed test left behind. */
export async function cleanUp(): Promise<void> {
  await Promise.all([...children].map((child) => end(child, "SIGKILL")));
  for (const directory of directories) {
    const pid = await readServerPid(join(directory, "data"));
    if (pid !== null && (await isServerAlive(pid))) {
      process.kill(pid, "SIGQUIT");
      await until(async () => !(await isServerAlive(pid)));
    }
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
  directories.clear();
}

export async function readServerPid(dataDir: string): Promise<number | null> {
  const text = await readFile(join(dataDir, "pg/postmaster.pid"), "utf8").catch(() => null);
  return text === null ? null : Number(text.split("\n")[0]);
}

/** The process id of the running server. */
export async function serverPid(dataDir: string): Promise<number> {
  const pid = await readServerPid(dataDir);
  if (pid === null) throw new Error("no server");
  return pid;
}

/** A zombie is dead: its process entry no longer has a working directory. */
export async function isServerAlive(pid: number): Promise<boolean> {
  return (await stat(`/proc/${pid}/cwd`).catch(() => null)) !== null;
}

/** Reads one value with one statement, on its own connection. */
export async function ask(url: string, statement: string): Promise<unknown> {
  const connection = openConnection(url, "asking-test");
  try {
    await connection.connect();
    const { rows } = await connection.query<Record<string, unknown>>(statement);
    return Object.values(rows[0] ?? {})[0];
  } finally {
    await connection.end().catch(() => {});
  }
}

export async function isAnswering(url: string): Promise<boolean> {
  return ask(url, "select true").then(
    () => true,
    () => false,
  );
}

/** An ordinary user can run promptd only if it can read the checkout. */
export async function isReadableForAll(path: string): Promise<boolean> {
  for (let directory = path; ; directory = dirname(directory)) {
    if (((await stat(directory)).mode & 0o005) !== 0o005) return false;
    if (dirname(directory) === directory) return true;
  }
}
