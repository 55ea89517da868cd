/**
 * Puts libraries into the server's `dist` whose manifests ask for a newer Node: installed beside it, each would warn in
 * five lines of what the server's own manifest says as well. They are bundled as they are: not minified, what the server
 * uses of each in a file of its own, loaded when it is used first, with their licenses beside them.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "vite";

/** Their own dependencies go with them; a manifest that is published names none of these. */
export const BUNDLED_LIBRARIES: readonly string[] = [
  "@ai-sdk/anthropic",
  "@ai-sdk/google",
  "@ai-sdk/openai",
  "@ai-sdk/openai-compatible",
  "@ai-sdk/provider",
  "ai",
  "undici",
];

/** @param dist of the server, with its sources compiled. */
export async function bundleLibraries(dist: string): Promise<void> {
  const used = usedExports(dist);
  const target = join(dist, "libraries");
  await build({
    configFile: false,
    logLevel: "warn",
    plugins: [entries(used)],
    // There is to be one zod: the schemas of another are strangers to the libraries.
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

/** A file for each library, with the names that the server imports of it. */
function entries(used: ReadonlyMap<string, ReadonlySet<string>>): Plugin {
  return {
    name: "entries",
    enforce: "pre",
    resolveId(id, importer) {
      if (id.startsWith(ENTRY)) return `\0${id}`;
      // The libraries are found from here, where the manifest of the server is fulfilled.
      return importer?.startsWith(`\0${ENTRY}`) === true ? this.resolve(id, import.meta.filename) : null;
    },
    load(id) {
      const library = id.split(`\0${ENTRY}`)[1];
      if (library === undefined) return null;
      return `export { ${[...(used.get(library) ?? [])].join(", ")} } from ${JSON.stringify(library)};`;
    },
  };
}

/** One that is of use for its types alone is not there. @throws when a library is imported in a way that is not read here. */
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
    if (unread !== undefined) throw new Error(`${file}: import ${unread} by the names that are used of it.`);
  }
  return used;
}

function scriptsOf(dist: string): string[] {
  return globSync("**/*.js", { cwd: dist }).map((name) => join(dist, name));
}
