/** The program before the newest migration, from the history of this checkout. */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

const ROOT = join(import.meta.dirname, "../../../..");
const MIGRATIONS = "packages/server/migrations";
/** Every file is new in an uncommitted change. */
const HEAD = "HEAD";

/** The last commit without the newest migration; null if the history does not reach that far. */
export function findCommitBefore(): string | null {
  const newest = readdirSync(join(ROOT, MIGRATIONS))
    .filter((name) => name.endsWith(".sql"))
    .toSorted()
    .at(-1);
  try {
    const added = git("log", "-1", "--format=%H", "--diff-filter=A", "--", `${MIGRATIONS}/${newest}`);
    return git("rev-parse", "--verify", "--quiet", added === "" ? HEAD : `${added}^`);
  } catch {
    return null; // sources without history, or with a truncated one
  }
}

/** @returns the path of its program, for the duration of the test; null if it needs packages that are not installed. */
export function checkOut(commit: string): string | null {
  const home = mkdtempSync(join(tmpdir(), "promptd-before-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const archive = execFileSync("git", ["archive", commit, "packages"], { cwd: ROOT, maxBuffer: 200_000_000 });
  execFileSync("tar", ["-x", "-C", home], { input: archive });
  const packages = globSync("packages/*/package.json", { cwd: home }).map((path) => join(home, dirname(path)));
  if (!packages.every((directory) => hasItsDependencies(directory))) return null;
  linkInstalled(join(home, "node_modules"), packages);
  return join(home, "packages/cli/src/main.ts");
}

/** The packages installed here, but with its own packages instead of ours. */
function linkInstalled(directory: string, packages: readonly string[]): void {
  const own = new Map(packages.map((path) => [readManifest(path).name, path]));
  const installed = globSync(["*", "@*/*"], { cwd: join(ROOT, "node_modules") }).filter(
    (name) => !/^@[^/]*$/.test(name),
  );
  for (const name of new Set([...installed, ...own.keys()])) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    symlinkSync(own.get(name) ?? join(ROOT, "node_modules", name), join(directory, name));
  }
  for (const nested of globSync("packages/*/node_modules", { cwd: ROOT })) {
    symlinkSync(join(ROOT, nested), join(dirname(directory), nested));
  }
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
}

/** In the major version that it requires. */
function hasItsDependencies(directory: string): boolean {
  const majorOf = (version: string) => version.split(".", 1)[0];
  return Object.entries(readManifest(directory).dependencies ?? {}).every(([name, version]) => {
    if (version === "*") return true;
    const places = [join(ROOT, "node_modules", name), join(ROOT, "packages/server/node_modules", name)];
    return places.some((place) => existsSync(place) && majorOf(readManifest(place).version) === majorOf(version));
  });
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}
