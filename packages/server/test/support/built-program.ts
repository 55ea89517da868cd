/**
 * The command `promptd` in a few files, for the hundreds of processes that tests start: a start then takes half of the
 * CPU time (docs/decisions/2026-11-26-npm-start-runs-a-bundle.md). The code is the same.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleProgram } from "../../../../scripts/build-program.ts";

/** Below the server's package, so that its dependencies are found. */
const DIRECTORY = join(import.meta.dirname, "../../node_modules/.cache/promptd-test-program");
const OLD_MS = 86_400_000;

/**
 * @returns the file to start with Node. Names reflect the content: concurrent runs write identical files or different
 * names.
 */
export async function buildProgram(): Promise<string> {
  const files = await bundleProgram(DIRECTORY);
  mkdirSync(DIRECTORY, { recursive: true });
  removeOld();
  for (const [name, code] of files) writeOnce(name, code);
  const [program = ""] = files.keys();
  return join(DIRECTORY, program);
}

/** A process that starts meanwhile must never see half a file. */
function writeOnce(name: string, code: string): void {
  const file = join(DIRECTORY, name);
  if (existsSync(file)) return utimesSync(file, new Date(), new Date());
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, code);
  renameSync(draft, file);
}

function removeOld(): void {
  for (const name of readdirSync(DIRECTORY)) {
    const file = join(DIRECTORY, name);
    const found = statSync(file, { throwIfNoEntry: false });
    if (found !== undefined && Date.now() - found.mtimeMs > OLD_MS) rmSync(file, { force: true });
  }
}
