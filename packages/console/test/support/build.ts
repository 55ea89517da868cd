/** The console as `npm start` builds it. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../../../..");
export const DIST = join(ROOT, "packages/console/dist");

const run = promisify(execFile);

/** Builds if a source is newer than the build. */
export async function buildConsole(): Promise<void> {
  const args = ["--conditions=promptd-source", join(ROOT, "scripts/build-console.ts"), "--if-changed"];
  await run(process.execPath, args).catch((error: { readonly stderr?: string }) => {
    throw new Error(`The console could not be built:\n${error.stderr}`, { cause: error });
  });
}
