import { execFileSync } from "node:child_process";

/** The commit that a measurement was taken of; "with changes" when the tree was not that of a commit. */
export function readCommit(): string {
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).trim();
  try {
    return git("status", "--porcelain") === "" ? git("rev-parse", "--short", "HEAD") : "with changes";
  } catch {
    return "unknown";
  }
}
