/** SQL of the embedders and their vectors. `bytea` is the truth: float32, little endian, unit length. */
import type { Queryable, Tx } from "../platform/database.ts";

export type EmbedderState = "building" | "active" | "retired";

export async function findEmbedder(db: Queryable, embedder: string): Promise<EmbedderState | null> {
  const [row] = await db.query<{ state: EmbedderState }>("select state from search_embedders where embedder = $1", [
    embedder,
  ]);
  return row?.state ?? null;
}

export async function findActive(db: Queryable): Promise<{ embedder: string; dims: number } | null> {
  const [row] = await db.query<{ embedder: string; dims: number }>(
    "select embedder, dims from search_embedders where state = 'active'",
  );
  return row ?? null;
}

/**
 * Makes the built-in embedder's row, which its vectors refer to. The first embedder of an installation is active at
 * once: nothing is indexed yet, so nothing can be missing. Under the index lock.
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

/** Begins (or begins again) to build an embedder; whatever else was being built is given up. Under the index lock. */
export async function beginBuilding(tx: Tx, embedder: string, dims: number): Promise<void> {
  await tx.query(
    "update search_embedders set state = 'retired', retired_at = promptd_now() where state = 'building' and embedder <> $1",
    [embedder],
  );
  await tx.query(
    `insert into search_embedders (embedder, dims, state) values ($1, $2, 'building')
     on conflict (embedder) do update set state = 'building', retired_at = null
     where search_embedders.state = 'retired'`,
    [embedder, dims],
  );
}

/**
 * Makes the embedder the active one if every document has its vector. Under the index lock, so that no document can
 * come in between. Two statements: in one, the unique index on the active state would see both rows active.
 */
export async function activateIfComplete(tx: Tx, embedder: string): Promise<boolean> {
  const [row] = await tx.query<{ ready: boolean }>(
    `select exists (select from search_embedders where embedder = $1 and state = 'building') and not exists (
       select from search_docs d
       where not exists (select from search_embeddings e where e.embedder = $1 and e.doc = d.doc)) as ready`,
    [embedder],
  );
  if (row?.ready !== true) return false;
  await tx.query("update search_embedders set state = 'retired', retired_at = promptd_now() where state = 'active'");
  await tx.query("update search_embedders set state = 'active', retired_at = null where embedder = $1", [embedder]);
  return true;
}

const RETIRED_KEPT = "24 hours";

/** Deletes vectors nobody has asked for a day; those of `kept` stay, for they answer when the active one cannot. */
export async function deleteRetired(db: Queryable, kept: string): Promise<void> {
  await db.query(
    `delete from search_embedders
     where state = 'retired' and embedder <> $1 and retired_at < promptd_now() - $2::interval`,
    [kept, RETIRED_KEPT],
  );
}

export async function insertVectors(
  tx: Queryable,
  embedder: string,
  vectors: readonly { readonly doc: number; readonly vector: Float32Array }[],
): Promise<void> {
  // A document that was removed meanwhile has no row any more; its vector is dropped.
  await tx.query(
    `insert into search_embeddings (embedder, doc, vec)
     select $1, v.doc, v.vec from unnest($2::int[], $3::bytea[]) as v (doc, vec) join search_docs d on d.doc = v.doc
     on conflict (embedder, doc) do nothing`,
    [embedder, vectors.map(({ doc }) => doc), vectors.map(({ vector }) => vectorBytes(vector))],
  );
}

/** Tells every process that these documents have a vector now. */
export async function noteVectors(tx: Queryable, docs: readonly number[]): Promise<void> {
  await tx.query(
    "insert into search_changes (doc, terms, words) select doc, '{}', '{}' from unnest($1::int[]) as v (doc)",
    [docs],
  );
}

export interface UnembeddedDocument {
  readonly doc: number;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly inputNames: readonly string[];
}

export async function listUnembedded(db: Queryable, embedder: string, limit: number): Promise<UnembeddedDocument[]> {
  return db.query<UnembeddedDocument>(
    `select doc, title, description, tags, input_names as "inputNames" from search_docs d
     where not exists (select from search_embeddings e where e.embedder = $1 and e.doc = d.doc)
     order by doc limit $2`,
    [embedder, limit],
  );
}

export interface StoredVector {
  readonly doc: number;
  readonly vec: Buffer;
}

export async function listVectors(db: Queryable, embedder: string, afterDoc: number, limit: number) {
  return db.query<StoredVector>(
    "select doc, vec from search_embeddings where embedder = $1 and doc > $2 order by doc limit $3",
    [embedder, afterDoc, limit],
  );
}

export async function listVectorsOf(db: Queryable, embedder: string, docs: readonly number[]): Promise<StoredVector[]> {
  return db.query<StoredVector>("select doc, vec from search_embeddings where embedder = $1 and doc = any($2::int[])", [
    embedder,
    docs,
  ]);
}

function vectorBytes(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** A copy: the driver's buffer is neither aligned nor ours. */
export function vectorFromBytes(bytes: Buffer): Float32Array {
  const copy = new Uint8Array(bytes.byteLength);
  copy.set(bytes);
  return new Float32Array(copy.buffer);
}
