/**
 * The migrations of this program: `migrations/NNNN-name.sql`, each marked in its first lines with whether older
 * programs work with the resulting schema.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const DIRECTORY = join(import.meta.dirname, "../../../migrations");

export interface Migration {
  readonly name: string;
  readonly text: string;
  /** The hash of the text without its mark. */
  readonly sha256: string;
  /** Whether programs that do not know this migration may start and keep running. */
  readonly isCompatible: boolean;
  /** The index that the migration builds while its table is in use; null for a migration that runs in a transaction. */
  readonly concurrentIndex: string | null;
}

export function readMigrations(): Migration[] {
  return readdirSync(DIRECTORY)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => parseMigration(file.slice(0, -".sql".length), readFileSync(join(DIRECTORY, file), "utf8")));
}

const MARK = /^-- promptd: (?<mark>.*)\n/m;
const MARKS = ["compatible", "incompatible", "compatible, concurrent"];
const CONCURRENT_INDEX = /^create (?:unique )?index concurrently (?<index>\w+)\s+on\s+\w+\s[^;]*;$/;

/** @throws Error if the mark is missing or does not match the text. */
export function parseMigration(name: string, text: string): Migration {
  const mark = MARK.exec(text)?.groups?.["mark"] ?? "";
  if (!MARKS.includes(mark)) {
    throw new Error(
      `Migration ${name} does not say whether older programs can run with it. Add a line "-- promptd: compatible" or "-- promptd: incompatible" at its top; CONTRIBUTING.md says which.`,
    );
  }
  const isConcurrent = mark.endsWith("concurrent");
  const statements = text.replace(/^\s*--.*$/gm, "").trim();
  const concurrentIndex = CONCURRENT_INDEX.exec(statements)?.groups?.["index"] ?? null;
  if (isConcurrent !== /\bconcurrently\b/i.test(statements) || isConcurrent !== (concurrentIndex !== null)) {
    throw new Error(
      `Migration ${name} must either be one statement "create index concurrently <name> on <table> …;" with the mark "-- promptd: compatible, concurrent", or have neither.`,
    );
  }
  const sha256 = createHash("sha256").update(text.replace(MARK, "")).digest("hex");
  return { name, text, sha256, isCompatible: mark !== "incompatible", concurrentIndex };
}
