/**
 * Writes `dist` of contract, client, MCP, server, and command line: JavaScript and types, as published. Sources run
 * without it. `npm run build` runs this after the console build.
 */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleClient, copyAssets, writeClientTypes } from "./build-client.ts";
import { bundleLibraries } from "./build-libraries.ts";

const PACKAGES = join(import.meta.dirname, "../packages");
const TSC = join(import.meta.dirname, "../node_modules/typescript/bin/tsc");

/** Each package is compiled against the types of the packages before it. */
for (const name of ["contract", "client", "mcp", "server", "cli"]) {
  const directory = join(PACKAGES, name);
  rmSync(join(directory, "dist"), { recursive: true, force: true });
  compile(directory, name === "client" ? ["--emitDeclarationOnly"] : []);
  nameTypesAsScripts(join(directory, "dist"));
  if (name === "server") copyAssets(join(directory, "src"), join(directory, "dist"));
}
await bundleClient(join(PACKAGES, "client/dist"));
await bundleLibraries(join(PACKAGES, "server/dist"));
writeClientTypes();

/** The compiler leaves `.ts` in type imports, which older compilers do not resolve. */
function nameTypesAsScripts(dist: string): void {
  for (const name of globSync("**/*.d.ts", { cwd: dist })) {
    const path = join(dist, name);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll(/((?:from|import\() ?"\.[^"]*)\.ts"/g, '$1.js"'));
  }
}

function compile(directory: string, more: readonly string[]): void {
  const args = [TSC, "-p", join(directory, "tsconfig.build.json"), ...more];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) throw new Error(`${directory} could not be compiled.`);
}
