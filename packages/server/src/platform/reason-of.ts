/** What failures say of themselves, and of files in our words: those of the system name its own functions. */

/**
 * What a failure says of itself. `localhost` has two addresses, and an error of both has no message of its own. A fetch
 * says only that it failed; why is its cause.
 */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.message === "" && cause instanceof AggregateError) return cause.errors.map(reasonOf).join("; ");
  return cause.message === "fetch failed" && cause.cause instanceof Error ? reasonOf(cause.cause) : cause.message;
}

/** The word for a failure that the system, a library or a database gives, such as ENOENT; null where it gives none. */
export function codeOf(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : null;
}

const NO_RIGHT = "this user has no right to it. Change its permissions, or start promptd as its owner.";
const FULL = "its disk is full. Make room on it.";

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "it is a file, not a folder. Choose another path.",
  ENOTDIR: "a part of its path is not a folder. Choose another path.",
  EISDIR: "it is a folder, not a file. Check its path.",
  ENOENT: "it is not there. Check its path.",
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
  ENOSPC: FULL,
  EDQUOT: FULL,
  ENOTSUP: "no folder can be made there. Choose another path.",
  EROFS: "its disk can only be read. Choose another path.",
};

/**
 * Such as "/d/x is not usable: it is not there. Check its path."
 * @param name what to call it. Where absent, its path does, which the system names when a file is opened, not afterwards.
 * @returns null for a failure that is not the system's, or is of no file.
 */
export function describeFileFailure(error: unknown, name: string | null = null): string | null {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return null;
  const shown = name ?? ("path" in error ? String(error.path) : null);
  if (shown === null) return null;
  const code = String(error.code);
  return `${shown} is not usable: ${REASONS[code] ?? `the system refuses it (${code}). Check it and its disk.`}`;
}

/** Of the data directory, with which more can be wrong than the system says: that it belongs to somebody else. */
export function describeDataDirFailure(dataDir: string, error: unknown): string {
  const name = `The data directory ${dataDir} (PROMPTD_DATA_DIR)`;
  return describeFileFailure(error, name) ?? `${name} is not usable: ${reasonOf(error)}`;
}
