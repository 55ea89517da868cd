import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readCommit } from "./measurement.ts";

function createRepository() {
  const directory = mkdtempSync(join(tmpdir(), "promptd-commit-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const env = { PATH: process.env["PATH"], HOME: directory }; // without a git hook's variables, which name its own repository
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: directory, env, encoding: "utf8" }).trim();
  const write = (path: string, text: string) => writeFileSync(join(directory, path), text);
  git("init", "--quiet");
  for (const folder of ["bench/harness", "bench/results", "docs"])
    mkdirSync(join(directory, folder), { recursive: true });
  for (const file of ["bench/results/recovery.json", "docs/performance.md", "bench/run.ts"]) write(file, "before");
  git("add", ".");
  const author = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
  git(...author, "commit", "--quiet", "--no-verify", "--message", "All there is");
  return { write, commit: git("rev-parse", "--short", "HEAD"), from: join(directory, "bench/harness") };
}

test("a measurement names its commit, even after an earlier one has written its record and page", () => {
  const { write, commit, from } = createRepository();
  write("bench/results/recovery.json", "after");
  write("bench/results/memory.json", "new");
  write("docs/performance.md", "after");
  expect(readCommit(from)).toBe(commit);
});

test("a measurement of an uncommitted tree says so", () => {
  const { write, from } = createRepository();
  write("bench/run.ts", "after");
  expect(readCommit(from)).toBe("with changes");
});
