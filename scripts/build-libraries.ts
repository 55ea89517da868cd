/**
 * Bundles libraries whose manifests require a newer Node into the server's `dist`. As installed packages, each would
 * print a five-line warning that repeats the server's own requirement. They are not minified. The parts of each library
 * that the server uses are in a separate file, loaded on first use, with the licenses next to them.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "vite";

/** Their dependencies are bundled with them. Published manifests name none of these. */
export const BUNDLED_LIBRARIES: readonly string[] = [
  "@ai-sdk/anthropic",
  "@ai-sdk/google",
  "@ai-sdk/openai",
  "@ai-sdk/openai-compatible",
  "@ai-sdk/provider",
  "ai",
  "undici",
];

/** @param dist the server's dist, with its sources compiled. */
export async function bundleLibraries(dist: string): Promise<void> {
  const used = usedExports(dist);
  const target = join(dist, "libraries");
  await build({
    configFile: false,
    logLevel: "warn",
    plugins: [entries(used)],
    // There must be only one zod: the libraries do not recognize schemas of another copy.
    ssr: { noExternal: true, external: ["zod"] },
    build: {
      ssr: true,
      outDir: target,
      minify: false,
      target: "node22",
      license: { fileName: "licenses.md" },
      rolldownOptions: {
        input: Object.fromEntries([...used.keys()].map((library) => [library, `${ENTRY}${library}`])),
        output: { entryFileNames: "[name].js", chunkFileNames: "shared/[name].js" },
      },
    },
  });
  for (const file of scriptsOf(dist)) {
    if (file.startsWith(target)) continue;
    const text = readFileSync(file, "utf8");
    const led = text.replaceAll(IMPORT, (whole, names: string, way: string, library: string) => {
      if (!BUNDLED_LIBRARIES.includes(library)) return whole;
      const path = relative(dirname(file), join(target, `${library}.js`));
      return `{${names}}${way}"${path.startsWith(".") ? path : `./${path}`}"`;
    });
    if (led !== text) writeFileSync(file, led);
  }
}

const ENTRY = "library:";
/** `{ a, b as c } from "name"` and `{ a, b: c } = await import("name")`, as the compiler writes them. */
const IMPORT = /\{([^{}]*)\}( from | = await import\()"([^".][^"]*)"/g;

/** Creates a file for each library with the names that the server imports from it. */
function entries(used: ReadonlyMap<string, ReadonlySet<string>>): Plugin {
  return {
    name: "entries",
    enforce: "pre",
    resolveId(id, importer) {
      if (id.startsWith(ENTRY)) return `\0${id}`;
      // Resolve the libraries from here, where the server's dependencies are installed.
      return importer?.startsWith(`\0${ENTRY}`) === true ? this.resolve(id, import.meta.filename) : null;
    },
    load(id) {
      const library = id.split(`\0${ENTRY}`)[1];
      if (library === undefined) return null;
      return `export { ${[...(used.get(library) ?? [])].join(", ")} } from ${JSON.stringify(library)};`;
    },
  };
}

/** A library that is used only for its types does not appear. @throws when a library is imported in an unsupported way. */
function usedExports(dist: string): ReadonlyMap<string, ReadonlySet<string>> {
  const used = new Map<string, Set<string>>();
  for (const file of scriptsOf(dist)) {
    const text = readFileSync(file, "utf8");
    for (const [, names = "", , library = ""] of text.matchAll(IMPORT)) {
      if (!BUNDLED_LIBRARIES.includes(library)) continue;
      const some = used.get(library) ?? new Set();
      used.set(library, some);
      for (const name of names.split(",")) some.add(name.trim().split(/ as |:/)[0] ?? "");
    }
    const rest = text.replaceAll(IMPORT, "");
    const unread = BUNDLED_LIBRARIES.find((library) => new RegExp(`(?:from |import ?\\(?)"${library}"`).test(rest));
    if (unread !== undefined) throw new Error(`${file}: import ${unread} with named imports.`);
  }
  return used;
}

function scriptsOf(dist: string): string[] {
  return globSync("**/*.js", { cwd: dist }).map((name) => join(dist, name));
}
