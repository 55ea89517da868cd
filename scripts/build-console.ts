/**
 * Builds the console into packages/console/dist, which the server serves at "/". With --if-changed, it builds only when a
 * source is newer than the build: `npm start` uses this, so that only the first start builds.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildFolder } from "./build-folder.ts";

const ROOT = join(import.meta.dirname, "..");
const VITE = join(ROOT, "node_modules/vite/bin/vite.js");
const DIST = join(ROOT, "packages/console/dist");
/** A file in a build whose time is the build's time. */
const MARK = ".vite/built";
const SOURCES = [
  "packages/console/{src,public}/**/*",
  "packages/console/*",
  "packages/{contract,client}/src/**/*",
  "docs/*.md",
];

const onlyIfChanged = process.argv.includes("--if-changed");
if (!onlyIfChanged || !isCurrent()) {
  const isBuilt = await buildFolder({ place: DIST, build, isCurrent: () => onlyIfChanged && isCurrent() });
  if (!isBuilt) process.exitCode = 1;
}

function isCurrent(): boolean {
  // Without development dependencies, nothing can be built, so use the build that was shipped.
  if (!existsSync(VITE)) return true;
  const built = statSync(join(DIST, MARK), { throwIfNoEntry: false });
  if (built === undefined) return false;
  const names = globSync(SOURCES, { cwd: ROOT, exclude: (name) => /^(dist|dist-.*|node_modules)$/.test(name) });
  return names.every(
    (name) => statSync(join(ROOT, name)).mtimeMs <= built.mtimeMs || statSync(join(ROOT, name)).isDirectory(),
  );
}

async function build(folder: string): Promise<boolean> {
  // Standard output is only for the result of `promptd serve --json`.
  const args = [VITE, "build", "--outDir", folder, "--emptyOutDir", "--logLevel", "warn"];
  const vite = spawn(process.execPath, args, {
    cwd: join(ROOT, "packages/console"),
    // Always build what users get, whatever the environment of the build.
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", 2, 2],
  });
  const [status] = await once(vite, "exit");
  if (status === 0) writeFileSync(join(folder, MARK), "");
  return status === 0;
}
