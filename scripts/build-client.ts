/**
 * Builds the client package, which has no dependencies: its JavaScript includes the parts of the contract that it needs,
 * without zod, and its types come with the contract's types.
 */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { API, SymbolFlags } from "typescript/unstable/sync";
import { build, type InlineConfig, type Plugin, type Rolldown } from "vite";

const PACKAGES = join(import.meta.dirname, "../packages");
const CONTRACT = join(PACKAGES, "contract");
const CLIENT = join(PACKAGES, "client/src");
const DIST = join(PACKAGES, "client/dist");
const VENDORED = join(DIST, "contract");
/** Maps an entry of the contract to its file among the copied types. */
const FACES = { "@promptd/contract": "index", "@promptd/contract/manage": "manage/index" } as const;
/** The types that need zod, and the file that replaces them in the client. */
const SHAPES = { EndpointShapes: "schema-types/v1-shapes", ManageShapes: "schema-types/manage-shapes" } as const;

const TARGET = "es2023";
const BUILD = {
  configFile: false,
  logLevel: "warn",
  plugins: [slimTables()],
  resolve: { conditions: ["promptd-source"] },
} satisfies InlineConfig;

/**
 * Writes one file per source, so that a bundler includes only what a page uses and keeps dynamic imports.
 * @param outDir the output directory of the JavaScript.
 */
export async function bundleClient(outDir: string): Promise<void> {
  await build({
    ...BUILD,
    build: {
      outDir,
      emptyOutDir: false,
      minify: false,
      target: TARGET,
      lib: { entry: [join(CLIENT, "index.ts"), join(CLIENT, "manage.ts")], formats: ["es"] },
      rolldownOptions: {
        output: {
          preserveModules: true,
          preserveModulesRoot: CLIENT,
          entryFileNames: ({ name }) => `${name.replace("contract/src/", "contract/")}.js`,
        },
      },
    },
  });
}

/** Sizes of the client's minified JavaScript on a page that runs prompts. */
export const CLIENT_BYTES_MAX = 12_000;

/** What a page loads for `import { createClient } from "@promptd/client"`, minified. */
export interface ClientBytes {
  /** Loaded first. Running a prompt needs no more. */
  readonly first: number;
  /** Loaded on demand: images, events, batches, and everything that is not `client.run`. */
  readonly later: number;
}

/** @param index the client's entry, as source or as installed. */
export async function measureClient(index: string): Promise<ClientBytes> {
  const entry = join(CLIENT, "page.js"); // a virtual module, not a file
  const page: Plugin = {
    name: "page",
    resolveId: (id) => (id === entry ? id : null),
    load: (id) => (id === entry ? `export { createClient } from ${JSON.stringify(index)};` : null),
  };
  const built = await build({
    ...BUILD,
    plugins: [page, ...BUILD.plugins],
    build: {
      write: false,
      target: TARGET,
      minify: "oxc",
      lib: { entry, formats: ["es"] },
      rolldownOptions: { output: { minify: true } },
    },
  });
  const [{ output }] = built as [Rolldown.RolldownOutput];
  const chunks = output.filter((file) => file.type === "chunk");
  const loaded = new Set<string>();
  const load = (name: string): void => {
    if (loaded.has(name)) return;
    loaded.add(name);
    for (const next of chunks.find(({ fileName }) => fileName === name)?.imports ?? []) load(next);
  };
  for (const { fileName, isEntry } of chunks) if (isEntry) load(fileName);
  const bytesOf = (some: typeof chunks) => some.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0);
  const isFirst = ({ fileName }: { readonly fileName: string }) => loaded.has(fileName);
  return { first: bytesOf(chunks.filter(isFirst)), later: bytesOf(chunks.filter((chunk) => !isFirst(chunk))) };
}

/** A client needs an endpoint's method and path, and an error's retry rule. The rest is prose. */
const TABLES: Readonly<Record<string, readonly [name: string, repeated: string, other?: string]>> = {
  "contract/src/endpoints.ts": ["ENDPOINTS", "method", "path"],
  "client/src/run/run-endpoints.ts": ["RUN_ENDPOINTS", "method", "path"],
  "contract/src/manage/endpoints.ts": ["MANAGE_ENDPOINTS", "method", "path"],
  "contract/src/errors.ts": ["ERRORS", "retry"],
};

function slimTables(): Plugin {
  return {
    name: "slim-tables",
    enforce: "pre",
    async load(id) {
      const [, found] = Object.entries(TABLES).find(([path]) => id.endsWith(path)) ?? [];
      if (found === undefined) return null;
      const [name, repeated, other] = found;
      const { [name]: table = {} } = (await import(id)) as Readonly<Record<string, Table>>;
      const text = other === undefined ? writeByValue(table, repeated) : writeByFunction(table, repeated, other);
      return { code: `export const ${name} = /* @__PURE__ */ (() => { ${text} })();`, moduleType: "js" };
    },
  };
}

type Table = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Entries with one member. Each distinct value is written once. */
function writeByValue(table: Table, member: string): string {
  const values = [...new Set(Object.values(table).map((entry) => entry[member]))];
  const consts = values.map((value, at) => `v${at} = { ${member}: ${JSON.stringify(value)} }`);
  const entries = Object.entries(table).map(([name, entry]) => `${name}: v${values.indexOf(entry[member])}`);
  return `const ${consts.join(", ")}; return { ${entries.join(", ")} };`;
}

/** Entries with two members: a function per value of one member, called with the other, without their common prefix. */
function writeByFunction(table: Table, repeated: string, other: string): string {
  const values = [...new Set(Object.values(table).map((entry) => entry[repeated]))];
  const start = commonStart(Object.values(table).map((entry) => String(entry[other])));
  const result = (value: unknown) =>
    `({ ${repeated}: ${JSON.stringify(value)}, ${other}: ${JSON.stringify(start)} + rest })`;
  const consts = values.map((value, at) => `v${at} = (rest) => ${result(value)}`);
  const entries = Object.entries(table).map(([name, entry]) => {
    const rest = JSON.stringify(String(entry[other]).slice(start.length));
    return `${name}: v${values.indexOf(entry[repeated])}(${rest})`;
  });
  return `const ${consts.join(", ")}; return { ${entries.join(", ")} };`;
}

function commonStart([first = "", ...others]: readonly string[]): string {
  let length = first.length;
  while (!others.every((one) => one.startsWith(first.slice(0, length)))) length -= 1;
  return first.slice(0, length);
}

/** Runs after the compiler has written the types of contract and client to their `dist`. */
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

/** Copies a type file and everything it imports. @throws Error for a file that needs a package. */
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

/** NodeBuilderFlags.NoTruncation and InTypeAlias: complete types, even for a type alias's own declaration. */
const WHOLE_TYPES = 1 | 8_388_608;

/** Maps a file name without extension to its text. */
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
/** What each endpoint accepts and returns. Written by the build. */
export interface ${name} {
${body}
}
${name === "EndpointShapes" ? SHAPES_OF : ""}`;
}

const GLOBAL_TYPES = ["Readonly", "Record", "Partial", "Omit", "Pick", "Promise"];
/** Exported by the contract, but useless without its schemas. */
const SHAPES_OF = "export type ShapesOf<Schemas> = Schemas;\n";

function importOf(type: string, file: string): string {
  const declaration = new RegExp(`^export (?:declare )?(?:interface|type) ${type}\\b`, "m");
  const dist = join(CONTRACT, "dist");
  const [home, ...others] = globSync("**/*.d.ts", {
    cwd: dist,
    exclude: ["**/schemas/**", "**/schema-types/**"],
  }).filter((name) => declaration.test(readFileSync(join(dist, name), "utf8")));
  if (home === undefined || others.length > 0) throw new Error(`The contract does not have exactly one type ${type}.`);
  const path = relative(dirname(file), home.replace(/\.d\.ts$/, ".js"));
  return `import type { ${type} } from "${path.startsWith(".") ? path : `./${path}`}";`;
}

/** Copies files next to the sources that are read at run time, such as the catalogue and the sandbox's clips. */
export function copyAssets(source: string, target: string): void {
  for (const name of globSync("**/*", { cwd: source, exclude: ["**/*.ts", "**/*.sql"] })) {
    if (!existsSync(join(source, name)) || !name.split("/").at(-1)?.includes(".")) continue;
    cpSync(join(source, name), join(target, name));
  }
}
