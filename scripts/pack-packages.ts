/**
 * Packs the output of `npm run build` into tarballs, as published: `node scripts/pack-packages.ts DIR`. With `--build`, it
 * builds first. Each manifest requires the other packages in this release's exact version, and omits everything that is
 * useful only in a checkout.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { BUNDLED_LIBRARIES } from "./build-libraries.ts";

const ROOT = join(import.meta.dirname, "..");
/** In publishing order. */
export const PACKAGES = ["contract", "client", "mcp", "console", "server", "cli"] as const;

type Json = Record<string, unknown>;

interface Manifest extends Json {
  readonly name: string;
  readonly version: string;
  readonly files: readonly string[];
}

/** @returns the paths of the tarballs, in publishing order. */
export function packPackages(outDir: string): string[] {
  mkdirSync(outDir, { recursive: true });
  return PACKAGES.map((name) => packOne(join(ROOT, "packages", name), resolve(outDir)));
}

function packOne(directory: string, outDir: string): string {
  const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
  const stage = mkdtempSync(join(tmpdir(), "promptd-pack-"));
  try {
    const files = manifest.files.flatMap((pattern) => globSync(pattern, { cwd: directory }));
    if (!files.includes("dist")) throw new Error(`${directory} has no dist. Run npm run build first.`);
    for (const file of files) cpSync(join(directory, file), join(stage, file), { recursive: true });
    const readme = join(directory, "README.md");
    cpSync(existsSync(readme) ? readme : join(ROOT, "README.md"), join(stage, "README.md"));
    for (const name of ["LICENSE", "NOTICE", "THIRD-PARTY.md"]) cpSync(join(ROOT, name), join(stage, name));
    writeFileSync(join(stage, "package.json"), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`);
    const packed = spawnSync("npm", ["pack", "--silent", "--pack-destination", outDir], {
      cwd: stage,
      encoding: "utf8",
    });
    if (packed.status !== 0) throw new Error(`npm pack failed for ${manifest.name}:\n${packed.stderr}`);
    return join(outDir, packed.stdout.trim().split("\n").at(-1) ?? "");
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** The console's dependencies are already bundled, as are the client's contract and some of the server's libraries. */
function publishedManifest(manifest: Manifest): Json {
  const { devDependencies: _dev, scripts: _scripts, dependencies = {}, exports, ...rest } = manifest;
  const isBundled = manifest.name === "@promptd/console";
  const repository = process.env["GITHUB_REPOSITORY"];
  return {
    ...rest,
    ...(exports === undefined ? {} : { exports: withoutSources(exports as Json) }),
    ...(isBundled ? {} : { dependencies: withVersions(dependencies as Record<string, string>, manifest.version) }),
    ...(repository === undefined
      ? {}
      : { repository: { type: "git", url: `git+https://github.com/${repository}.git` } }),
    publishConfig: { access: "public" },
  };
}

function withVersions(dependencies: Record<string, string>, version: string): Record<string, string> {
  const isOurs = (name: string) => name === "promptd" || name.startsWith("@promptd/");
  return Object.fromEntries(
    Object.entries(dependencies)
      .filter(([name]) => !BUNDLED_LIBRARIES.includes(name))
      .map(([name, range]) => [name, isOurs(name) ? version : range]),
  );
}

function withoutSources(exports: Json): Json {
  return Object.fromEntries(
    Object.entries(exports as Record<string, Json>).map(([entry, { "promptd-source": _source, ...ways }]) => [
      entry,
      ways,
    ]),
  );
}

/** Requires the folder before anything is built. */
function packByHand(): void {
  const { values, positionals } = parseArgs({ options: { build: { type: "boolean" } }, allowPositionals: true });
  const [outDir] = positionals;
  if (outDir === undefined) {
    console.error("Name the output folder: npm run pack:packages -- DIR");
    process.exitCode = 1;
    return;
  }
  if (values.build === true) {
    const built = spawnSync("npm", ["run", "--silent", "build"], { cwd: ROOT, stdio: ["ignore", 2, 2] });
    if (built.status !== 0) {
      process.exitCode = built.status ?? 1;
      return;
    }
  }
  for (const tarball of packPackages(outDir)) console.log(tarball);
}

if (import.meta.main) packByHand();
