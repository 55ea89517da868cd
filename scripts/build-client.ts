/**
 * Builds the package of the client, which depends on nothing: its JavaScript with what it needs of the contract inside,
 * without zod, and its types with the contract's types beside them.
 */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { API, SymbolFlags } from "typescript/unstable/sync";
import { build, type Plugin } from "vite";

const PACKAGES = join(import.meta.dirname, "../packages");
const CONTRACT = join(PACKAGES, "contract");
const DIST = join(PACKAGES, "client/dist");
const VENDORED = join(DIST, "contract");
/** Entry of the contract to its face among the copied types. */
const FACES = { "@promptd/contract": "index", "@promptd/contract/manage": "manage/index" } as const;
/** The types that need zod, and the file that has another text of them in the client. */
const SHAPES = { EndpointShapes: "shapes/endpoint-shapes", ManageShapes: "shapes/manage-shapes" } as const;

/** @param outDir where the JavaScript goes. @param minify for a look at how much a page would load. */
export async function bundleClient(outDir: string, { minify }: { readonly minify: boolean }): Promise<void> {
  await build({
    configFile: false,
    logLevel: "warn",
    plugins: [slimTables()],
    resolve: { conditions: ["promptd-source"] },
    build: {
      outDir,
      emptyOutDir: false,
      minify: minify ? "oxc" : false,
      target: "es2023",
      lib: {
        entry: { index: join(PACKAGES, "client/src/index.ts"), manage: join(PACKAGES, "client/src/manage.ts") },
        formats: ["es"],
      },
      rolldownOptions: { output: { chunkFileNames: "shared.js", minify } },
    },
  });
}

/** Of an endpoint a client needs method and path, of an error whether it is sent again; the rest is prose. */
function slimTables(): Plugin {
  const tables: Readonly<Record<string, readonly [string, readonly string[]]>> = {
    "contract/src/endpoints.ts": ["ENDPOINTS", ["method", "path"]],
    "contract/src/manage/endpoints.ts": ["MANAGE_ENDPOINTS", ["method", "path"]],
    "contract/src/errors.ts": ["ERRORS", ["retry"]],
  };
  return {
    name: "slim-tables",
    enforce: "pre",
    async load(id) {
      const [, found] = Object.entries(tables).find(([path]) => id.endsWith(path)) ?? [];
      if (found === undefined) return null;
      const [name, members] = found;
      const { [name]: table } = (await import(id)) as Readonly<Record<string, Readonly<Record<string, object>>>>;
      const slim = Object.entries(table ?? {}).map(([key, entry]) => [
        key,
        Object.fromEntries(Object.entries(entry).filter(([member]) => members.includes(member))),
      ]);
      return { code: `export const ${name} = ${JSON.stringify(Object.fromEntries(slim))};`, moduleType: "js" };
    },
  };
}

/** After the compiler has written the types of contract and client into their `dist`. */
export function writeClientTypes(): void {
  const shapes = describeShapes();
  const seen = new Set<string>();
  for (const face of Object.values(FACES)) copyTypes(face, { shapes, seen });
  for (const name of globSync("**/*.d.ts", { cwd: DIST, exclude: ["contract/**"] })) {
    const path = join(DIST, name);
    const text = readFileSync(path, "utf8").replaceAll(/(?<=from ")@promptd\/contract(?:\/manage)?(?=")/g, (entry) => {
      const target = join(VENDORED, `${FACES[entry as keyof typeof FACES]}.js`);
      return `./${relative(dirname(path), target)}`;
    });
    writeFileSync(path, text);
  }
}

interface Copying {
  readonly shapes: ReadonlyMap<string, string>;
  readonly seen: Set<string>;
}

/** A file of types and all that it leads to. @throws Error for one that needs a package. */
function copyTypes(name: string, copying: Copying): void {
  if (copying.seen.has(name)) return;
  copying.seen.add(name);
  const from = join(CONTRACT, "dist", `${name}.d.ts`);
  const text = copying.shapes.get(name) ?? readFileSync(from, "utf8");
  const to = join(VENDORED, `${name}.d.ts`);
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, text);
  for (const [, target = ""] of text.matchAll(/(?:from|import\() ?"([^"]+)"/g)) {
    if (!target.startsWith(".")) throw new Error(`${from} needs ${target}, which the client does not have.`);
    copyTypes(relative(join(CONTRACT, "dist"), join(dirname(from), target.replace(/\.js$/, ""))), copying);
  }
}

/** NodeBuilderFlags.NoTruncation and InTypeAlias: whole types, also of a name's own declaration. */
const WHOLE_TYPES = 1 | 8_388_608;

/** The file without ending, to its text. */
function describeShapes(): ReadonlyMap<string, string> {
  const api = new API({ cwd: CONTRACT });
  try {
    const config = join(CONTRACT, "tsconfig.json");
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (project === undefined) throw new Error(`The compiler does not know ${config}.`);
    const { checker } = project;
    return new Map(
      Object.entries(SHAPES).map(([name, file]) => {
        const document = join(CONTRACT, "src", `${file}.ts`);
        const symbol = checker.resolveName(name, SymbolFlags.Type, {
          document,
          position: readFileSync(document, "utf8").length,
        });
        if (symbol === undefined) throw new Error(`${document} lacks ${name}.`);
        const lines = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map((endpoint) => {
          const type = checker.getTypeOfSymbol(endpoint);
          if (type === undefined) throw new Error(`${endpoint.name} of ${name} has no type.`);
          return `  readonly ${endpoint.name}: ${checker.typeToString(type, undefined, WHOLE_TYPES)};`;
        });
        return [file, formatShapes(name, file, lines)];
      }),
    );
  } finally {
    api.close();
  }
}

function formatShapes(name: string, file: string, lines: readonly string[]): string {
  const body = lines.join("\n");
  const used = new Set(body.replaceAll(/"[^"]*"/g, "").match(/\b[A-Z][A-Za-z]+\b/g));
  const imports = [...used].filter((one) => !GLOBAL_TYPES.includes(one)).map((one) => importOf(one, file));
  return `${imports.join("\n")}
/** What each endpoint takes and answers. Written by the build. */
export interface ${name} {
${body}
}
${name === "EndpointShapes" ? SHAPES_OF : ""}`;
}

const GLOBAL_TYPES = ["Readonly", "Record", "Partial", "Omit", "Pick", "Promise"];
/** Exported by the contract, and of no use without its schemas. */
const SHAPES_OF = "export type ShapesOf<Schemas> = Schemas;\n";

function importOf(type: string, file: string): string {
  const declaration = new RegExp(`^export (?:declare )?(?:interface|type) ${type}\\b`, "m");
  const dist = join(CONTRACT, "dist");
  const [home, ...others] = globSync("**/*.d.ts", { cwd: dist, exclude: ["**/schemas/**", "**/shapes/**"] }).filter(
    (name) => declaration.test(readFileSync(join(dist, name), "utf8")),
  );
  if (home === undefined || others.length > 0) throw new Error(`The contract has not one type ${type}.`);
  const path = relative(dirname(file), home.replace(/\.d\.ts$/, ".js"));
  return `import type { ${type} } from "${path.startsWith(".") ? path : `./${path}`}";`;
}

/** What stands beside the sources and is read at run time, such as the catalogue and the clips of the sandbox. */
export function copyAssets(source: string, target: string): void {
  for (const name of globSync("**/*", { cwd: source, exclude: ["**/*.ts", "**/*.sql"] })) {
    if (!existsSync(join(source, name)) || !name.split("/").at(-1)?.includes(".")) continue;
    cpSync(join(source, name), join(target, name));
  }
}
