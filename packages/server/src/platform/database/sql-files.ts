/**
 * The functions, triggers, and views of the database. They are in the `sql/` folder of their slice, one file per rule,
 * each as `create or replace`, and are re-applied when their text has changed.
 *
 * Old and new processes run side by side, so a function keeps its name, parameters, columns, and outcomes for as long
 * as an older process may call it: a new signature needs a new name. A migration of a later release drops the old
 * function.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../log.ts";
import { compareVersions } from "../version.ts";
import type { Tx } from "./database.ts";

/** `src` even if this file runs from `dist`: the package contains the SQL files in `src`. */
const SOURCES = join(import.meta.dirname, "../../../src");
/** In order: functions in SQL (unlike PL/pgSQL) can call only functions that are defined before them. */
const FOLDERS = ["platform/database", "accounts", "credits", "people", "models", "prompts", "webhooks", "runs"];
/** Column defaults call its function, so it is applied before the tables. */
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
  /** The newest promptd that has started on this database. */
  readonly version: string;
}

export interface SqlFilesPlan {
  /** Files that the database lacks or has with another text, in order. */
  readonly beforeTables: readonly SqlFile[];
  readonly afterTables: readonly SqlFile[];
  apply(files: readonly SqlFile[]): Promise<void>;
  /** Call it once all files are applied. */
  recordVersion(): Promise<void>;
}

export interface SqlFilesOptions {
  readonly version: string;
  readonly sqlFiles: readonly SqlFile[];
  /**
   * True: the database has migrations that this program does not know, so another program is newer, whatever its
   * version.
   */
  readonly isBehind: boolean;
  /** True: an operator wants this program's texts even if newer ones are applied. */
  readonly isRollback: boolean;
}

/**
 * Plans which files to apply, under the migration lock. An older promptd changes nothing: its calls reach the newer
 * functions, which have the same names. A newer promptd records its version even if its texts are the same, so that no
 * older one replaces them. If two builds have the same version, the last to start wins and logs that.
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
