import type { Database, Queryable, Tx } from "../platform/database/database.ts";
import type { StoredFile, StoredImage } from "./stored-file.ts";
import { FIRST_ID } from "../platform/ids.ts";

/** Bytes outlive their address by this long, so that a download or a run's last read can finish. */
const REMOVAL_DELAY = "1 hour";

/** What a row says about a file's bytes. */
type FileContent = Omit<Extract<StoredImage, { type: "file" }>, "type">;

/** The run that owns the inputs; it may need them until its deadline, when it is final. */
export interface InputsOwner {
  readonly accountId: string;
  readonly runId: string;
  readonly deadlineSeconds: number;
}

/** The conflict clause allows a transaction with an unknown outcome to be repeated. */
const INSERT_INPUTS = `
  insert into files (id, account_id, run_id, attempt, kind, sha256, bytes, mime, generated_at, expires_at)
  select id, $1, $2, 0, 'input', sha256, bytes, mime, promptd_now(), promptd_now() + make_interval(secs => $7)
  from unnest($3::uuid[], $4::bytea[], $5::bigint[], $6::text[]) as file (id, sha256, bytes, mime)
  on conflict (id) do nothing`;

export async function insertInputs(tx: Tx, owner: InputsOwner, files: readonly FileContent[]): Promise<void> {
  await tx.query(INSERT_INPUTS, [owner.accountId, owner.runId, ...columnsOf(files), owner.deadlineSeconds]);
}

/** Times come from the process that signed the address, since row and address must agree. */
const INSERT_OUTPUTS = `
  insert into files (id, account_id, run_id, attempt, kind, sha256, bytes, mime, key_id, generated_at, expires_at)
  select id, $1, $2, $3, 'output', sha256, bytes, mime, key_id,
    to_timestamp(generated_ms / 1000.0), to_timestamp(expires_ms / 1000.0)
  from unnest($4::uuid[], $5::bytea[], $6::bigint[], $7::text[], $8::int[], $9::bigint[], $10::bigint[])
    as file (id, sha256, bytes, mime, key_id, generated_ms, expires_ms)
  on conflict (id) do nothing`;

export async function insertOutputs(
  tx: Tx,
  owner: { readonly accountId: string; readonly runId: string; readonly attempt: number },
  files: readonly StoredFile[],
): Promise<void> {
  await tx.query(INSERT_OUTPUTS, [
    owner.accountId,
    owner.runId,
    owner.attempt,
    ...columnsOf(files),
    files.map((file) => file.keyId),
    files.map((file) => file.generatedAtMs),
    files.map((file) => file.expiresAtMs),
  ]);
}

/** Never expires until `expireNow` ends it. */
const INSERT_SAMPLE = `
  insert into files (id, account_id, run_id, attempt, kind, sha256, bytes, mime, generated_at, expires_at)
  values ($3, $1, $2, 0, 'sample', $4, $5, $6, promptd_now(), 'infinity') on conflict (id) do nothing`;

export async function insertSample(
  tx: Tx,
  { accountId, runId }: Pick<InputsOwner, "accountId" | "runId">,
  file: FileContent,
): Promise<void> {
  const sha256 = Buffer.from(file.sha256, "hex");
  await tx.query(INSERT_SAMPLE, [accountId, runId, file.fileId, sha256, file.bytes, file.mediaType]);
}

export async function expireNow(tx: Tx, fileId: string): Promise<void> {
  await tx.query("update files set expires_at = promptd_now() where id = $1 and kind = 'sample'", [fileId]);
}

function columnsOf(files: readonly FileContent[]): unknown[] {
  return [
    files.map((file) => file.fileId),
    files.map((file) => Buffer.from(file.sha256, "hex")),
    files.map((file) => file.bytes),
    files.map((file) => file.mediaType),
  ];
}

/** Marks a batch of expired files. With skip locked, concurrent sweeps share the work instead of waiting. */
export async function markExpired(db: Database, batch: number): Promise<number> {
  const rows = await db.query<{ id: string }>(
    `update files set deleted_at = promptd_now()
     where id in (select id from files where deleted_at is null and expires_at <= (select promptd_now())
                  order by expires_at limit $1 for update skip locked)
     returning id`,
    [batch],
  );
  return rows.length;
}

/** A position in the removal order. The time is the database's text, since a Date would lose microseconds. */
export interface Removable {
  readonly id: string;
  readonly expiresAt: string;
}

/** Lists marked files whose bytes are due for removal and not yet removed, oldest first, after the given one. */
export async function listRemovable(db: Database, batch: number, after: Removable | null): Promise<Removable[]> {
  return db.query<Removable>(
    `select id, expires_at::text as "expiresAt" from files where deleted_at is not null and removed_at is null
       and expires_at <= (select promptd_now()) - interval '${REMOVAL_DELAY}' and (expires_at, id) > ($2, $3)
     order by files.expires_at, id limit $1`,
    [batch, after?.expiresAt ?? "-infinity", after?.id ?? FIRST_ID],
  );
}

export async function markRemoved(db: Database, fileIds: readonly string[]): Promise<void> {
  await db.query(`update files set removed_at = promptd_now() where id = any($1::uuid[]) and removed_at is null`, [
    fileIds,
  ]);
}

/** Returns the ids that have a row, in any state. */
export async function findKnown(db: Database, fileIds: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>("select id from files where id = any($1::uuid[])", [fileIds]);
  return new Set(rows.map((row) => row.id));
}

/** The database's time in milliseconds. A process with a wrong clock must not treat a running run's bytes as old. */
export async function readNowMs(db: Database): Promise<number> {
  const [row] = await db.query<{ now: Date }>("select promptd_now() as now");
  if (row === undefined) throw new Error("The database did not return its time.");
  return row.now.getTime();
}

/** What this database knows about the installation mark in its blob store. */
export interface InstallationMark {
  readonly installationId: string;
  /** The mark that the last sweep found, and the one that it replaced it with. */
  readonly seen: string;
  readonly written: string;
}

/** @param newInstallationId used if the database has none yet. */
export async function readInstallationMark(db: Database, newInstallationId: string): Promise<InstallationMark> {
  await db.query(
    "insert into blob_store_mark (installation_id, seen, written) values ($1, '', '') on conflict do nothing",
    [newInstallationId],
  );
  const [row] = await db.query<InstallationMark>(
    `select installation_id as "installationId", seen, written from blob_store_mark`,
  );
  if (row === undefined) throw new Error("The database has no row for its installation mark.");
  return row;
}

export async function saveInstallationMark(
  db: Database,
  { seen, written }: Omit<InstallationMark, "installationId">,
): Promise<void> {
  await db.query("update blob_store_mark set seen = $1, written = $2", [seen, written]);
}

export interface FileKeyRow {
  readonly id: number;
  readonly fingerprint: Buffer;
  readonly createdAt: Date;
}

/** The three newest keys, newest first; none if no process has started yet. */
export function listFileKeys(db: Queryable): Promise<FileKeyRow[]> {
  return db.query(`select id, fingerprint, created_at as "createdAt" from file_keys order by id desc limit 3`);
}

/** Locks the keys, so that processes that start together register one key, not two. */
export async function lockFileKeys(tx: Tx): Promise<FileKeyRow[]> {
  await tx.query("lock table file_keys in share row exclusive mode");
  return listFileKeys(tx);
}

/** Makes a fingerprint the newest key and retires the others. */
export async function insertFileKey(tx: Tx, id: number, fingerprint: Buffer): Promise<void> {
  await tx.query("update file_keys set retired_at = promptd_now() where retired_at is null");
  await tx.query("insert into file_keys (id, fingerprint) values ($1, $2)", [id, fingerprint]);
}

export interface FileOfAccount extends Omit<FileContent, "sha256"> {
  readonly runId: string;
  readonly kind: "input" | "output" | "sample";
}

/** Lists files by id. `withRemoved`: including files whose bytes are gone. */
export function listFilesOf(
  db: Queryable,
  accountId: string,
  { after, limit, withRemoved }: { readonly after: string; readonly limit: number; readonly withRemoved: boolean },
): Promise<FileOfAccount[]> {
  return db.query(
    `select id as "fileId", run_id as "runId", kind, bytes, mime as "mediaType" from files
     where account_id = $1 and id > $2 and ($4 or removed_at is null) order by id limit $3`,
    [accountId, after, limit, withRemoved],
  );
}

/** For a deleted account only: rows of other accounts stay after their bytes are gone. */
export async function deleteFileRows(db: Queryable, fileIds: readonly string[]): Promise<void> {
  await db.query("delete from files where id = any($1::uuid[])", [fileIds]);
}
