import { execFileSync } from "node:child_process";

/** The commit that a measurement was taken of. */
export function readCommit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: import.meta.dirname, encoding: "utf8" }).trim();
  } catch {
    return "unknown";
  }
}
