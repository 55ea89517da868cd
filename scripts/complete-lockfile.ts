/**
 * Adds optional packages of other platforms that are missing from package-lock.json. npm leaves out packages that the
 * current registry does not have, and `npm ci` then rejects the whole lock file. Run it after every `npm install`. The
 * added entries are never fetched on other platforms. It completes the project's lock file, or the given one:
 * `node --conditions=promptd-source scripts/complete-lockfile.ts bench/peers/package-lock.json`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface Entry {
  readonly version?: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const FILE = process.argv[2] ?? join(import.meta.dirname, "../package-lock.json");
const PLATFORM = /(?<os>android|darwin|freebsd|linux|openharmony|win32)-(?<cpu>[a-z0-9]+)(?:-(?<abi>[a-z]+))?$/;

const lock = JSON.parse(readFileSync(FILE, "utf8")) as { packages: Record<string, Entry> };
const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
  Object.entries(entry.optionalDependencies ?? {})
    .filter(([name]) => !isLocked(path, name))
    .map(([name, version]) => ({ name, version, isDev: entry.dev === true })),
);
for (const { name, version, isDev } of missing) {
  lock.packages[`node_modules/${name}`] = {
    version,
    ...platformOf(name),
    ...(isDev ? { dev: true } : {}),
    optional: true,
  };
}
const sorted = Object.entries(lock.packages).sort(([left], [right]) => left.localeCompare(right, "en"));
writeFileSync(FILE, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
console.log(`${missing.length} entries added.`);

/** Resolves a package like npm: next to the package that requires it, then in every directory above. */
function isLocked(path: string, name: string): boolean {
  const parts = path.split("/node_modules/");
  const places = parts.map((_, index) => `${parts.slice(0, parts.length - index).join("/node_modules/")}/`);
  return [...places, ""].some((place) => `${place === "/" ? "" : place}node_modules/${name}` in lock.packages);
}

function platformOf(name: string): { os?: string[]; cpu: string[]; libc?: string[] } {
  if (name.endsWith("-wasm32-wasi")) return { cpu: ["wasm32"] };
  const { os, cpu, abi = "" } = PLATFORM.exec(name)?.groups ?? {};
  if (os === undefined || cpu === undefined) throw new Error(`${name} names no platform; add it by hand.`);
  const libc = os === "linux" ? { libc: [abi.startsWith("musl") ? "musl" : "glibc"] } : {};
  return { os: [os], cpu: [cpu], ...libc };
}
