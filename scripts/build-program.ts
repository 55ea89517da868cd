/**
 * Bundles this checkout's `promptd` command and its libraries into a few files, so that a start reads forty files instead
 * of reading a thousand and stripping the types of half of them. `npm start` runs it with --if-changed, so that only the
 * first start builds. It prints the file to start with Node: the sources' launcher if nothing can be built.
 */
import { copyFileSync, existsSync, globSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import type { Plugin } from "vite";
import { buildFolder } from "./build-folder.ts";

const ROOT = join(import.meta.dirname, "..");
const VITE = join(ROOT, "node_modules/vite");
const SOURCE = join(ROOT, "packages/cli/src/main.ts");
/** Laid out like the installed package, so that the launcher starts it the same way. */
const PLACE = join(ROOT, "packages/cli/dist-start");
const LAUNCHER = "bin/promptd.js";
const LAUNCHERS = [LAUNCHER, "bin/exit-with-launcher.js"];
/** A file in a build whose time is the build's time. */
const MARK = "built";
const SOURCES = [
  "packages/{contract,client,mcp,server,cli}/{package.json,src/**/*.ts}",
  "packages/cli/bin/*",
  "package-lock.json",
  "scripts/build-program.ts",
];
/** Not bundled, because it has its own binary. */
const INSTALLED = ["sharp"];

/**
 * @param directory the output directory, inside this checkout.
 * @returns the text of each file by name; the first is the program. They are CommonJS, because importing `node:http` as
 * an ES module makes Node load everything that it exports, which takes 25 ms.
 */
export async function bundleProgram(directory: string): Promise<ReadonlyMap<string, string>> {
  const { build } = await import("vite");
  const result = await build({
    configFile: false,
    root: ROOT,
    logLevel: "error",
    plugins: [placesOfSources(directory)],
    // Its Node entry loads other files by names that are built at run time.
    resolve: { alias: { "jsonc-parser": join(packageOf("jsonc-parser"), "lib/esm/main.js") } },
    ssr: { noExternal: true, external: INSTALLED, resolve: { conditions: ["promptd-source"] } },
    build: {
      ssr: SOURCE,
      write: false,
      minify: false,
      target: "node22",
      rolldownOptions: {
        output: {
          format: "cjs",
          entryFileNames: "[name]-[hash].js",
          chunkFileNames: "[name]-[hash].js",
          comments: false,
        },
      },
    },
  });
  if (Array.isArray(result) || !("output" in result)) throw new Error("vite did not build the program");
  const chunks = result.output.flatMap((chunk) =>
    chunk.type === "chunk" ? [[chunk.fileName, inAscii(chunk.code)] as const] : [],
  );
  return new Map([...chunks, ["package.json", '{ "type": "commonjs" }\n']]);
}

/** Sources read files next to them, which stay where they are. */
function placesOfSources(directory: string): Plugin {
  const from = (path: string) =>
    `process.getBuiltinModule("node:path").join(__dirname, ${JSON.stringify(relative(directory, path))})`;
  return {
    name: "places-of-sources",
    enforce: "pre",
    transform: (code, id) =>
      id.startsWith(join(ROOT, "packages")) && code.includes("import.meta.")
        ? code
            .replaceAll("import.meta.dirname", from(dirname(id)))
            .replaceAll("import.meta.url", `process.getBuiltinModule("node:url").pathToFileURL(${from(id)}).href`)
        : null,
  };
}

/** With a single dash in a text, Node reads the file as two bytes per character, in twice the time and memory. */
function inAscii(code: string): string {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function packageOf(name: string): string {
  return dirname(createRequire(join(ROOT, "packages/server/package.json")).resolve(`${name}/package.json`));
}

/** @returns the file to start with Node. */
export async function buildStart(onlyIfChanged: boolean): Promise<string> {
  if (!existsSync(VITE)) return join(ROOT, "packages/cli", LAUNCHER); // no development dependencies
  if (!onlyIfChanged || !isCurrent())
    await buildFolder({ place: PLACE, build: writeStart, isCurrent: () => onlyIfChanged && isCurrent() });
  return join(PLACE, LAUNCHER);
}

async function writeStart(folder: string): Promise<boolean> {
  const dist = join(folder, "dist");
  for (const directory of [dist, join(folder, "bin")]) mkdirSync(directory);
  for (const name of LAUNCHERS) copyFileSync(join(ROOT, "packages/cli", name), join(folder, name));
  const files = await bundleProgram(dist);
  for (const [name, text] of files) writeFileSync(join(dist, name), text);
  const [program] = files.keys();
  writeFileSync(join(dist, "main.js"), `require("./${program}");\n`);
  writeFileSync(join(folder, MARK), "");
  return true;
}

function isCurrent(): boolean {
  const built = statSync(join(PLACE, MARK), { throwIfNoEntry: false });
  if (built === undefined) return false;
  return globSync(SOURCES, { cwd: ROOT }).every((name) => statSync(join(ROOT, name)).mtimeMs <= built.mtimeMs);
}

if (process.argv[1] === import.meta.filename) console.log(await buildStart(process.argv.includes("--if-changed")));
