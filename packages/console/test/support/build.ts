/** The console as `npm start` builds it. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../../..");
export const DIST = join(ROOT, "packages/console/dist");

/** Builds when a source is newer than the build. */
export function buildConsole(): void {
  const args = ["--conditions=promptd-source", join(ROOT, "scripts/build-console.ts"), "--if-changed"];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`The console could not be built:\n${stderr}`);
}
