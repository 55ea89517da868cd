/**
 * The functions, triggers and views of the database. They stand in `sql/` beside their slice, one file per rule, each as
 * `create or replace`, and are re-applied when their text has changed.
 *
 * Old and new processes run side by side, so a function keeps its name, parameters, columns and outcomes for as long as an
 * older process may call it: a new signature takes a new name. A migration of a later release drops the old function.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../log.ts";
import { compareVersions } from "../version.ts";
import type { Tx } from "./database.ts";

/** `src` also when this file runs from `dist`: the package carries the SQL files where they are. */
const SOURCES = join(import.meta.dirname, "../../../src");
/** From left to right: what is defined in SQL (and not in PL/pgSQL) calls only what stands before it. */
const FOLDERS = ["platform/database", "accounts", "credits", "people", "models", "prompts", "webhooks", "runs"];
/** Column defaults call it, so it comes before the tables. */
const BEFORE_TABLES = "platform/database/sql/now.sql";

export interface SqlFile {
  /** Path below `src`, such as "credits/sql/settle.sql". */
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
}

export function readSqlFiles(): SqlFile[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(SOURCES, folder, "sql"))
      .filter((file) => file.endsWith(".sql"))
      .sort()
      .map((file) => {
        const name = `${folder}/sql/${file}`;
        const text = readFileSync(join(SOURCES, name), "utf8");
        return { name, text, sha256: createHash("sha256").update(text).digest("hex") };
      }),
  );
}

interface AppliedFile {
  readonly name: string;
  readonly sha256: string;
  /** Of the newest promptd that started here. */
  readonly version: string;
}

export interface SqlFilesPlan {
  /** What the database lacks or has in another text, in order. */
  readonly beforeTables: readonly SqlFile[];
  readonly afterTables: readonly SqlFile[];
  apply(files: readonly SqlFile[]): Promise<void>;
  /** To be called once all are applied. */
  recordVersion(): Promise<void>;
}

export interface SqlFilesOptions {
  readonly version: string;
  readonly sqlFiles: readonly SqlFile[];
  /** The database has migrations that this program does not know: whatever its version says, another one is newer. */
  readonly isBehind: boolean;
  /** An operator wants this program's texts, whatever is newer. */
  readonly isRollback: boolean;
}

/**
 * Under the lock of the migrations. An older promptd changes nothing: its calls reach the newer functions, which have
 * the same names. A newer one records its version even when its texts are the same, so that no older one replaces them.
 * Of two builds of one version the last to start wins, and says so.
 */
export async function planSqlFiles(tx: Tx, options: SqlFilesOptions, log: Log): Promise<SqlFilesPlan> {
  const { version, sqlFiles } = options;
  const rows = await tx.query<AppliedFile>("select name, sha256, version from schema_functions");
  const applied = new Map(rows.map((row) => [row.name, row.sha256]));
  const changed = sqlFiles.filter((file) => applied.get(file.name) !== file.sha256);
  const replaced = changed.map(({ name }) => name).filter((name) => applied.has(name));
  const newest =
    rows
      .map((row) => row.version)
      .sort(compareVersions)
      .at(-1) ?? "";
  if (!options.isRollback && (options.isBehind || compareVersions(version, newest) < 0)) {
    if (changed.length > 0) log.info({ version, newest }, "the database has the functions of a newer promptd");
    return { beforeTables: [], afterTables: [], apply: async () => {}, recordVersion: async () => {} };
  }
  return {
    beforeTables: changed.filter((file) => file.name === BEFORE_TABLES),
    afterTables: changed.filter((file) => file.name !== BEFORE_TABLES),
    apply: async (files) => {
      for (const file of files) {
        await tx.query(file.text);
        await recordSqlFiles(tx, [file], version);
      }
    },
    recordVersion: async () => {
      if (replaced.length > 0 && compareVersions(newest, version) >= 0) {
        log.warn({ version, newest, files: replaced }, "SQL functions of another build of promptd were replaced");
      }
      if (changed.length > 0 || compareVersions(newest, version) !== 0) await recordSqlFiles(tx, sqlFiles, version);
    },
  };
}

async function recordSqlFiles(tx: Tx, files: readonly SqlFile[], version: string): Promise<void> {
  await tx.query(
    `insert into schema_functions (name, sha256, version)
     select name, sha256, $3 from unnest($1::text[], $2::text[]) file (name, sha256)
     on conflict (name) do update set sha256 = excluded.sha256, version = excluded.version, applied_at = excluded.applied_at`,
    [files.map((file) => file.name), files.map((file) => file.sha256), version],
  );
}
