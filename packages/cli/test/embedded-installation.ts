/** An installation with the embedded database, in its own initially empty directory. */
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../../server/test/support/promptd-process.ts";
import { createDirectory, type Environment } from "./operator-process.ts";

export interface EmbeddedInstallation {
  /** The parent of the data directory. */
  readonly directory: string;
  readonly environment: Environment;
  /** The process id of the database server; null: it has stopped or never started. */
  serverPid(): Promise<number | null>;
  /** A server that is stopped right after its start leaves its pid file behind. The next start removes it. */
  isServerRunning(): Promise<boolean>;
  /** Stops a server that a failed test left running. */
  remove(): Promise<void>;
}

export async function createEmbeddedInstallation(): Promise<EmbeddedInstallation> {
  const directory = await createDirectory();
  const serverPid = async () => {
    const text = await readFile(join(directory, "data/pg/postmaster.pid"), "utf8").catch(() => null);
    return text === null ? null : Number(text.split("\n")[0]);
  };
  const isServerRunning = async () => {
    const pid = await serverPid();
    return pid !== null && (await isAlive(pid));
  };
  return {
    directory,
    environment: { PROMPTD_DATA_DIR: join(directory, "data"), PORT: "0" },
    serverPid,
    isServerRunning,
    remove: async () => {
      if (await isServerRunning()) {
        process.kill((await serverPid()) ?? 0, "SIGQUIT");
        await until(async () => !(await isServerRunning()));
      }
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A zombie is dead: its process entry no longer has a working directory. */
export async function isAlive(pid: number): Promise<boolean> {
  return (await stat(`/proc/${pid}/cwd`).catch(() => null)) !== null;
}
