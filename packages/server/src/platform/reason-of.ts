/** Describes failures; file failures in our own words, because the system's messages name its own functions. */

/**
 * Returns the message of a failure. `localhost` has two addresses, and the error for both has no message of its own. A
 * fetch says only that it failed; its cause says why.
 */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.message === "" && cause instanceof AggregateError) return cause.errors.map(reasonOf).join("; ");
  return cause.message === "fetch failed" && cause.cause instanceof Error ? reasonOf(cause.cause) : cause.message;
}

/** Returns the code that the system, a library, or a database gives a failure, such as ENOENT; null: it has none. */
export function codeOf(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : null;
}

const NO_RIGHT = "permission denied. Change its permissions, or start promptd as its owner.";
const FULL = "its disk is full. Free up space.";

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "it is a file, not a folder. Choose another path.",
  ENOTDIR: "part of its path is not a folder. Choose another path.",
  EISDIR: "it is a folder, not a file. Check the path.",
  ENOENT: "it does not exist. Check the path.",
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
  ENOSPC: FULL,
  EDQUOT: FULL,
  ENOTSUP: "a folder cannot be created there. Choose another path.",
  EROFS: "its disk is read-only. Make it writable, or choose another path.",
};

/**
 * Describes a file failure, such as "/d/x cannot be used: it does not exist. Check the path."
 * @param name what to call the file; null: its path, which the system reports when a file is opened but not later.
 * @returns null if the failure does not come from the system, or is not about a file.
 */
export function describeFileFailure(error: unknown, name: string | null = null): string | null {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return null;
  const shown = name ?? pathOf(error);
  if (shown === null) return null;
  const code = String(error.code);
  return `${shown} cannot be used: ${REASONS[code] ?? `the system reports ${code}. Check the path and its disk.`}`;
}

/** A symbolic link's path is what it leads to, and may be any text; its destination is the link. */
function pathOf(error: Error & { syscall: unknown }): string | null {
  if (error.syscall === "symlink" && "dest" in error) return String(error.dest);
  return "path" in error ? String(error.path) : null;
}

/**
 * Describes a failure of the data directory, which may also fail for our own reasons, such as belonging to another
 * user.
 */
export function describeDataDirFailure(dataDir: string, error: unknown): string {
  const name = `The data directory ${dataDir} (PROMPTD_DATA_DIR)`;
  return describeFileFailure(error, name) ?? `${name} cannot be used: ${reasonOf(error)}`;
}
