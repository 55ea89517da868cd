/**
 * SQL of the optional index of vectors in pgvector. The bytes in search_embeddings stay the truth: this table is made
 * from them, may be dropped at any time with the extension, and decides only which documents are scored exactly.
 */
import type { Database, Queryable } from "../../platform/database/database.ts";

/** From 0.7 on: half-precision vectors with an index of nearest neighbours. */
export async function hasVectorExtension(db: Queryable): Promise<boolean> {
  const rows = await db.query(
    "select from pg_extension where extname = 'vector' and to_regtype('halfvec') is not null",
  );
  return rows.length > 0;
}

/** The table of an embedder; a name, because it is spelt into statements. */
export function vectorTable(embedder: string): string {
  if (!/^[a-z]+-[0-9a-f]{16}$/.test(embedder)) throw new Error(`${embedder} is no name of an embedder.`);
  return `search_vectors_${embedder.replace("-", "_")}`;
}

export type IndexState = "absent" | "filling" | "ready";

/** `ready` once the table has its index, which is made when every vector of the time is in it. */
export async function readIndexState(db: Queryable, table: string): Promise<IndexState> {
  const [row] = await db.query<{ state: IndexState }>(
    `select case when to_regclass($1) is null then 'absent'
                 when not exists (select from pg_index where indexrelid = to_regclass($1 || '_near') and indisvalid) then 'filling'
                 else 'ready' end as state`,
    [table],
  );
  return row?.state ?? "absent";
}

export async function hasDocuments(db: Queryable, count: number): Promise<boolean> {
  return (await db.query("select from search_docs offset $1 limit 1", [count - 1])).length > 0;
}

/** A dropped extension takes the column with it and leaves the table, which is then made anew. */
export async function createVectorTable(db: Queryable, table: string, dims: number): Promise<void> {
  const hasColumn = "select from pg_attribute where attrelid = to_regclass($1) and attname = 'v' and not attisdropped";
  if ((await db.query(hasColumn, [table])).length === 0) await db.query(`drop table if exists ${table}`);
  // It does not refer to search_docs: while the index is built, nobody could then delete there.
  await db.query(`create table if not exists ${table} (doc int primary key, v halfvec(${dims}) not null)`);
}

const HNSW = "hnsw (v halfvec_cosine_ops)";

/**
 * Begins to build the index, unless some process is at it: it is made of what the table holds, and later rows are added
 * one by one. What a build that was broken off has left is removed first. `built` resolves when this build is done,
 * after minutes; writers wait for nothing meanwhile.
 */
export async function startNearIndex(
  db: Database,
  table: string,
  method: string = HNSW,
): Promise<{ readonly built: Promise<void> }> {
  const index = `${table}_near`;
  const broken = "select from pg_index where indexrelid = to_regclass($1) and not indisvalid";
  const isBroken = (await db.query(broken, [index])).length > 0; // or not finished: looked at first
  const building = "select from pg_stat_progress_create_index where relid = to_regclass($1)";
  if ((await db.query(building, [table])).length > 0) return { built: Promise.resolve() };
  if (isBroken) await db.query(`drop index if exists ${index}`);
  return { built: db.runAlone(`create index concurrently if not exists ${index} on ${table} using ${method}`) };
}

/** Rows of documents that were taken out; nothing finds them, but they take the place of others among the candidates. */
export async function deleteOrphans(db: Queryable, table: string, limit: number): Promise<void> {
  await db.query(
    `delete from ${table} where doc in (
       select t.doc from ${table} t where not exists (select from search_docs d where d.doc = t.doc) limit $1)`,
    [limit],
  );
}

export interface MissingVector {
  readonly doc: number;
  readonly vec: Buffer;
}

export function listMissing(db: Queryable, table: string, embedder: string, limit: number): Promise<MissingVector[]> {
  return db.query(
    `select e.doc, e.vec from search_embeddings e
     where e.embedder = $1 and not exists (select from ${table} t where t.doc = e.doc) order by e.doc limit $2`,
    [embedder, limit],
  );
}

export interface NumberedVector {
  readonly doc: number;
  readonly vector: Float32Array;
}

export async function insertNear(db: Queryable, table: string, rows: readonly NumberedVector[]): Promise<void> {
  await db.query(
    `insert into ${table} (doc, v)
     select n.doc, n.v::halfvec from unnest($1::int[], $2::text[]) as n (doc, v) join search_docs d on d.doc = n.doc
     on conflict (doc) do nothing`,
    [rows.map(({ doc }) => doc), rows.map(({ vector }) => literalOf(vector))],
  );
}

/** Rows whose mean stands for that of all. */
const MEAN_OF = 20_000;

export async function readMean(db: Queryable, table: string): Promise<Float32Array | null> {
  const [row] = await db.query<{ mean: string | null }>(
    `select avg(v)::text as mean from (select v from ${table} limit ${MEAN_OF}) as rows_of_it`,
  );
  const mean = row?.mean ?? null;
  return mean === null ? null : Float32Array.from(JSON.parse(mean) as number[]);
}

/** The extension allows no longer list. */
const EF_SEARCH_MAX = 1_000;

/** Documents near the vector, approximately; no condition follows the scan, which would leave too few rows. */
export async function findNear(db: Database, table: string, vector: Float32Array, wanted: number): Promise<number[]> {
  const limit = Math.min(EF_SEARCH_MAX, wanted);
  const rows = await db.tx(async (tx) => {
    // The planner prefers to sort a small table, and asks the index only if it may not.
    const settings = "select set_config('hnsw.ef_search', $1, true), set_config('enable_seqscan', 'off', true)";
    await tx.query(settings, [String(limit)]);
    return tx.query<{ doc: number }>(`select doc from ${table} order by v <=> $1::halfvec limit $2`, [
      literalOf(vector),
      limit,
    ]);
  });
  return rows.map(({ doc }) => doc);
}

/** Tables of embedders that are gone, or that serve no longer. */
export async function dropOtherTables(db: Queryable, kept: string): Promise<void> {
  const rows = await db.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relkind = 'r' and c.relname like 'search\\_vectors\\_%' and c.relname <> $1
       and pg_table_is_visible(c.oid)`,
    [kept],
  );
  for (const { name } of rows) await db.query(`drop table if exists ${JSON.stringify(name)}`);
}

function literalOf(vector: Float32Array): string {
  return `[${Array.from(vector, (value) => value.toPrecision(6)).join(",")}]`;
}
