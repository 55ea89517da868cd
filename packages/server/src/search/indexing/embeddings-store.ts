/**
 * SQL for the embedders and their vectors, which are stored as `bytea`: float32, little endian, unit length.
 *
 * Every process records which embedder it is configured with (`wanted_at`), so that a process without that setting, or
 * an older release after a rollback, does not replace the model that others use.
 *
 *   building --every document has its vector, and no process wants the active model--> active
 *   active --another becomes active--> retired --wanted again--> building
 *   building or retired --unwanted for a day--> deleted
 */
import type { Database, Queryable, Tx } from "../../platform/database/database.ts";
import type { SearchDocument } from "./document-terms.ts";
import { underIndexLock } from "./index-store.ts";

/** Any fixed number. It is the first half of the advisory locks' keys; the embedder is the second. */
const EMBEDDING_LOCK = 7_306_012;

export interface Embedder {
  readonly embedder: string;
  readonly dims: number;
}

/**
 * Makes the built-in embedder's row, which its vectors refer to. The first embedder of an installation becomes active
 * at once, since nothing is indexed yet and no vector can be missing. Call it under the index lock.
 */
export async function ensureEmbedder(tx: Tx, embedder: string, dims: number): Promise<void> {
  await tx.query(
    `insert into search_embedders (embedder, dims, state, retired_at)
     select $1, $2, case when busy then 'retired' else 'active' end, case when busy then promptd_now() end
     from (select exists (select from search_embedders where state = 'active') as busy) as now
     on conflict (embedder) do nothing`,
    [embedder, dims],
  );
}

/** How often a process records its embedder again. It is rare because each time writes a row. */
const WANTED_RENEWED = "1 minute";
/**
 * An embedder may be replaced this long after a process last wanted it: a process may lose its database for a while.
 */
const WANTED_LASTS = "10 minutes";
const UNWANTED_KEPT = "24 hours";

/** Records that a process is configured with this model's embedder. A retired embedder is reused with its vectors. */
export async function wantEmbedder(db: Queryable, { embedder, dims }: Embedder, model: string): Promise<void> {
  await db.query(
    `insert into search_embedders as e (embedder, dims, model, state) values ($1, $2, $3, 'building')
     on conflict (embedder) do update set wanted_at = promptd_now(), retired_at = null,
       state = case e.state when 'active' then 'active' else 'building' end
     where e.state = 'retired' or e.wanted_at < promptd_now() - $4::interval`,
    [embedder, dims, model, WANTED_RENEWED],
  );
}

/** Does the same for a process that does not know its embedder, because the model does not respond. */
export async function wantEmbeddersOf(db: Queryable, model: string): Promise<void> {
  await db.query(
    "update search_embedders set wanted_at = promptd_now() where model = $1 and wanted_at < promptd_now() - $2::interval",
    [model, WANTED_RENEWED],
  );
}

/** Does the same for the built-in embedder, which every process uses. */
export async function wantBuiltIn(db: Queryable, embedder: string): Promise<void> {
  await db.query(
    "update search_embedders set wanted_at = promptd_now() where embedder = $1 and wanted_at < promptd_now() - $2::interval",
    [embedder, WANTED_RENEWED],
  );
}

interface Activation {
  /** False: an active model stays active, whether or not a process wants it. */
  readonly mayReplaceModel: boolean;
}

/**
 * Whether this embedder may become active: another one is active, and no document lacks this one's vector. The active
 * one must be the built-in one, or belong to a model that no process wants, or to the same model with vectors of
 * another length, which it no longer returns.
 */
export async function canActivate(db: Queryable, embedder: string, { mayReplaceModel }: Activation): Promise<boolean> {
  const [row] = await db.query<{ replaceable: boolean }>(
    `select exists (select from search_embedders where embedder = $1 and state <> 'active') and not exists (
       select from search_embedders a where a.state = 'active' and a.model is not null
         and not ($3 and a.wanted_at < promptd_now() - $2::interval)
         and not exists (select from search_embedders e
                         where e.embedder = $1 and e.model = a.model and e.dims <> a.dims)) as replaceable`,
    [embedder, WANTED_LASTS, mayReplaceModel],
  );
  return row?.replaceable === true && (await listUnembedded(db, embedder, { limit: 1 })).length === 0;
}

/** Call it under the index lock. It takes two statements: in one, the unique index would see two active rows. */
async function setActive(tx: Tx, embedder: string): Promise<void> {
  await tx.query("update search_embedders set state = 'retired', retired_at = promptd_now() where state = 'active'");
  await tx.query("update search_embedders set state = 'active', retired_at = null where embedder = $1", [embedder]);
}

/**
 * Deletes some vectors of an embedder that no process has wanted for a day, and finally its row. It works in pieces,
 * since deleting the vectors of a large catalogue would exceed the statement timeout. Call it under the index lock, so
 * that it deletes nothing of an embedder that is becoming active.
 * @returns whether there may be more.
 */
export async function deleteUnwanted(tx: Tx, limit: number): Promise<boolean> {
  const isUnwanted = `state <> 'active' and wanted_at < promptd_now() - interval '${UNWANTED_KEPT}'
    and coalesce(retired_at < promptd_now() - interval '${UNWANTED_KEPT}', true)`;
  const [unwanted] = await tx.query<{ embedder: string }>(`select embedder from search_embedders where ${isUnwanted}`);
  if (unwanted === undefined) return false;
  const deleted = await tx.query(
    `delete from search_embeddings where embedder = $1
       and doc in (select doc from search_embeddings where embedder = $1 limit $2) returning doc`,
    [unwanted.embedder, limit],
  );
  if (deleted.length < limit)
    await tx.query(`delete from search_embedders where embedder = $1 and ${isUnwanted}`, [unwanted.embedder]);
  return true;
}

/** True in only one transaction at a time, so that several processes do not send a slow model the same texts. */
export async function tryLockEmbedding(tx: Tx, embedder: string): Promise<boolean> {
  const [row] = await tx.query<{ locked: boolean }>("select pg_try_advisory_xact_lock($1, hashtext($2)) as locked", [
    EMBEDDING_LOCK,
    embedder,
  ]);
  return row?.locked === true;
}

export interface MadeVector {
  readonly doc: number;
  readonly vector: Float32Array;
}

export async function insertVectors(tx: Queryable, embedder: string, vectors: readonly MadeVector[]): Promise<void> {
  // A document removed meanwhile no longer has a row; its vector is dropped.
  await tx.query(
    `insert into search_embeddings (embedder, doc, vec)
     select $1, v.doc, v.vec from unnest($2::int[], $3::bytea[]) as v (doc, vec) join search_docs d on d.doc = v.doc
     on conflict (embedder, doc) do nothing`,
    [embedder, vectors.map(({ doc }) => doc), vectors.map(({ vector }) => vectorBytes(vector))],
  );
}

/**
 * Notifies every process that these documents now have vectors. No process holds vectors of a model that is not yet
 * active.
 */
async function noteVectors(tx: Queryable, embedder: string, docs: readonly number[]): Promise<void> {
  await tx.query(
    `insert into search_changes (doc, terms, words) select doc, '{}', '{}' from unnest($2::int[]) as v (doc)
     where exists (select from search_embedders where embedder = $1 and (state = 'active' or model is null))`,
    [embedder, docs],
  );
}

export interface UnembeddedDocument extends Omit<SearchDocument, "promptVersionId"> {
  readonly doc: number;
}

/** @param range documents to leave out, and the only documents to consider. */
export function listUnembedded(
  db: Queryable,
  embedder: string,
  { limit, except = [], only }: { limit: number; except?: readonly number[]; only?: readonly number[] },
): Promise<UnembeddedDocument[]> {
  return db.query(
    `select doc, prompt_id as "promptId", title, description, tags, input_names as "inputNames" from search_docs d
     where not exists (select from search_embeddings e where e.embedder = $1 and e.doc = d.doc)
       and doc <> all ($3::int[]) and ($4::int[] is null or doc = any ($4::int[]))
     order by doc limit $2`,
    [embedder, limit, except, only ?? null],
  );
}

export function listVectorsOf(
  db: Queryable,
  embedder: string,
  docs: readonly number[],
): Promise<{ readonly doc: number; readonly vec: Buffer }[]> {
  return db.query("select doc, vec from search_embeddings where embedder = $1 and doc = any($2::int[])", [
    embedder,
    docs,
  ]);
}

function vectorBytes(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

/**
 * Copies a vector, since the driver's buffer is not aligned and not ours. A shared array for many rows leaves no
 * garbage.
 */
export function copyVector(bytes: Buffer, into: Float32Array): void {
  new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(bytes);
}

/** @returns whether search uses this embedder from now on. */
export async function activate(db: Database, embedder: string, activation: Activation): Promise<boolean> {
  if (!(await canActivate(db, embedder, activation))) return false;
  // No document can be added in between.
  return underIndexLock(db, async (tx) => {
    if (!(await canActivate(tx, embedder, activation))) return false;
    await setActive(tx, embedder);
    return true;
  });
}

/** Stores vectors, and notifies the processes that have vectors in memory. */
export async function keepVectors(db: Database, embedder: string, vectors: readonly MadeVector[]): Promise<void> {
  await db.tx(async (tx) => {
    await insertVectors(tx, embedder, vectors);
    await noteVectors(
      tx,
      embedder,
      vectors.map(({ doc }) => doc),
    );
  });
}
