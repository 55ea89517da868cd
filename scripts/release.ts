/**
 * Prepares a release: `npm run release -- 0.2.0`. Sets the version of every package and of the server, closes the
 * changelog's open section, and opens the next one. Review, commit, and tag as it prints; the tag publishes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGES } from "./pack-packages.ts";

const OPEN = ", not yet released";

export interface Release {
  readonly version: string;
  /** YYYY-MM-DD */
  readonly day: string;
}

/** @throws Error when the version is not valid or is older than the current version. */
export function checkVersion(version: string, present: string): void {
  const parts = /^(\d+)\.(\d+)\.(\d+)$/.exec(version)?.slice(1).map(Number);
  if (parts === undefined) throw new Error(`The version must have the form 1.2.3, got "${version}".`);
  const before = present.split(".").map(Number);
  const at = parts.findIndex((part, index) => part !== before[index]);
  if (at !== -1 && (parts[at] ?? 0) < (before[at] ?? 0)) throw new Error(`${version} is older than ${present}.`);
}

/** Puts the changelog's open section under the version and date, and adds a new open one. @throws Error without an open section. */
export function closeChangelog(text: string, { version, day }: Release): string {
  const heading = text.split("\n").find((line) => line.startsWith("## ") && line.endsWith(OPEN));
  if (heading === undefined) throw new Error(`CHANGELOG.md has no section that ends with "${OPEN}".`);
  return text.replace(heading, `## Next${OPEN}\n\n## ${version}, ${day}`);
}

/** Sets the version in a manifest or the lock file, wherever it names packages of this repository. */
export function setVersion(text: string, present: string, version: string): string {
  const manifest = JSON.parse(text) as { version?: string; packages?: Record<string, { version?: string }> };
  if (manifest.version === present) manifest.version = version;
  for (const [path, locked] of Object.entries(manifest.packages ?? {})) {
    if ((path === "" || path.startsWith("packages/")) && locked.version === present) locked.version = version;
  }
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function release(version: string, day: string): void {
  const root = join(import.meta.dirname, "..");
  const edit = (file: string, change: (text: string) => string): void => {
    const path = join(root, file);
    writeFileSync(path, change(readFileSync(path, "utf8")));
    console.log(file);
  };
  const { version: present } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  checkVersion(version, present);
  const manifests = ["package.json", "package-lock.json", ...PACKAGES.map((name) => `packages/${name}/package.json`)];
  edit("CHANGELOG.md", (text) => closeChangelog(text, { version, day }));
  for (const manifest of manifests) edit(manifest, (text) => setVersion(text, present, version));
  edit("python/pyproject.toml", (text) => text.replace(`version = "${present}"`, `version = "${version}"`));
  edit("packages/server/src/platform/version.ts", (text) => text.replace(`"${present}"`, `"${version}"`));
  console.log(`\nThen: npm run format && git commit -am "Release ${version}" && git tag v${version}`);
}

if (import.meta.main) release(process.argv[2] ?? "", new Date().toISOString().slice(0, 10));
