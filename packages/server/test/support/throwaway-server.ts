/** The database server of a test run, which nobody keeps: where it writes, and how. */
import { readFile, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";

const MEMORY = "/dev/shm";
/** Databases, files, and browsers of a whole run took 1.5 GiB at most. */
const BYTES_MIN = 4 * 2 ** 30;

/**
 * Memory, if a machine has enough: there a copy of the template took 8 ms of CPU time, and 30 to 110 ms on a disk under
 * load (2026-11-23). Programs are started from it too, which some machines forbid.
 */
export async function chooseDirectory(): Promise<string> {
  const mounts = await readFile("/proc/mounts", "utf8").catch(() => "");
  const options = mounts.split("\n").flatMap((line) => {
    const [, place, type, given = ""] = line.split(" ");
    return place === MEMORY && type === "tmpfs" ? [given.split(",")] : [];
  });
  if (options.length === 0 || options.some((given) => given.includes("noexec"))) return tmpdir();
  const { bavail, bsize } = await statfs(MEMORY);
  return bavail * bsize >= BYTES_MIN ? MEMORY : tmpdir();
}

/**
 * Nothing outlives the run, so no commit waits for the disk; a hundred files with twelve connections each fit. No
 * database lives long enough to be worth autovacuum, which would also disturb what tests observe.
 */
export const THROWAWAY_SETTINGS: Readonly<Record<string, string>> = {
  max_connections: "300",
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  autovacuum: "off",
};
