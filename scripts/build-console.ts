/**
 * Builds the console into packages/console/dist, which the server serves at "/". With --if-changed only when a source is
 * newer than the build: `npm start` asks for that, so that a first start builds it and the next ones do not.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const VITE = join(ROOT, "node_modules/vite/bin/vite.js");
/** Written last, and taken away by the next build first: a build that was interrupted does not count. */
const BUILT = join(ROOT, "packages/console/dist/.vite/built");
const SOURCES = [
  "packages/console/{src,public}/**/*",
  "packages/console/*",
  "packages/{contract,client}/src/**/*",
  "docs/*.md",
];

process.exitCode = process.argv.includes("--if-changed") && isCurrent() ? 0 : build();

function isCurrent(): boolean {
  // Without the development dependencies nothing can be built, and the build that came along is what there is.
  if (!existsSync(VITE)) return true;
  if (!existsSync(BUILT)) return false;
  const builtMs = statSync(BUILT).mtimeMs;
  const names = globSync(SOURCES, { cwd: ROOT, exclude: (name) => name === "dist" || name === "node_modules" });
  return names.every(
    (name) => statSync(join(ROOT, name)).mtimeMs <= builtMs || statSync(join(ROOT, name)).isDirectory(),
  );
}

function build(): number {
  // The result of `promptd serve --json` is for standard output alone.
  const args = [VITE, "build", "--logLevel", "warn"];
  const { status } = spawnSync(process.execPath, args, {
    cwd: join(ROOT, "packages/console"),
    // Always what users get, whatever is being tested or developed around it.
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", 2, 2],
  });
  if (status === 0) writeFileSync(BUILT, "");
  return status ?? 1;
}
