/**
 * The vectors in pgvector, for catalogues too large to scan: PostgreSQL names the candidates, and their exact vectors
 * decide. Used where an operator has created the extension; dropped, the scan of the process's own copy answers again.
 *
 *   absent --create table--> filling --all vectors in, create index--> ready --drop extension--> absent
 */
import type { Database } from "../platform/database.ts";
import type { Log } from "../platform/log.ts";
import { findActive, listVectorsOf, vectorFromBytes } from "./embeddings-store.ts";
import type { VectorsAround } from "./meaning.ts";
import type { ActiveEmbedder } from "./mirror-store.ts";
import { VectorMatrix } from "./vector-matrix.ts";
import * as store from "./vector-index-store.ts";

export interface VectorIndexOptions {
  readonly db: Database;
  readonly log: Log;
  /** Test only: from how many documents on the table is made. */
  readonly indexFromDocuments?: number | undefined;
}

export interface VectorIndex {
  /** Null while the table is not ready, or not there: then the process's own copy is scanned. */
  around(embedder: string): VectorsAround | null;
  /** Looks whether the extension and the finished table of the active embedder are there. Never rejects. */
  look(): Promise<void>;
  /** One turn of keeping the table: makes it, fills it, adds what came since. */
  maintain(): Promise<void>;
}

/** Below this the exact scan is the faster one: 8 ms for 100,000 vectors of 300 numbers (measured 2026-11-21). */
const INDEX_FROM_DOCUMENTS = 200_000;
const BATCH = 500;
const BATCHES_PER_TURN = 20;
/** Candidates for each neighbour that is asked for: the index orders by another angle than the exact score. */
const CANDIDATES_PER_NEIGHBOUR = 3;

export function createVectorIndex(options: VectorIndexOptions): VectorIndex {
  const { db, log } = options;
  let open: { readonly embedder: string; readonly around: VectorsAround } | null = null;

  async function findOpen(): Promise<typeof open> {
    const active = await findActive(db);
    if (active === null || !(await store.hasVectorExtension(db))) return null;
    const table = store.vectorTable(active.embedder);
    if ((await store.readIndexState(db, table)) !== "ready") return null;
    const mean = await store.readMean(db, table);
    return mean === null ? null : { embedder: active.embedder, around: guard(readAround(db, active, mean)) };
  }
  /** Answers with no vectors where the table fails (dropped a moment ago): the words still find. */
  function guard(around: VectorsAround): VectorsAround {
    return async (vector, count) => {
      try {
        return await around(vector, count);
      } catch (error) {
        open = null;
        log.warn({ err: error }, "the index of vectors did not answer; search scans its own copy of the vectors");
        return new VectorMatrix({ dims: vector.length, shippedMean: null, isPlain: true });
      }
    };
  }
  return {
    around: (embedder) => (open?.embedder === embedder ? open.around : null),
    look: async () => {
      try {
        open = await findOpen();
      } catch (error) {
        open = null;
        log.warn({ err: error }, "it could not be seen whether vectors are indexed; search scans its own copy of them");
      }
    },
    maintain: async () => {
      const active = await findActive(db);
      if (active === null || !(await store.hasVectorExtension(db))) return;
      const isLarge = await store.hasDocuments(db, options.indexFromDocuments ?? INDEX_FROM_DOCUMENTS);
      if (isLarge) await fill(db, active);
    },
  };
}

async function fill(db: Database, { embedder, dims }: ActiveEmbedder): Promise<void> {
  const table = store.vectorTable(embedder);
  await store.createVectorTable(db, table, dims);
  for (let i = 0; i < BATCHES_PER_TURN; i += 1) {
    const missing = await store.listMissing(db, table, embedder, BATCH);
    const rows = missing.map(({ doc, vec }) => ({ doc, vector: vectorFromBytes(vec) }));
    await store.insertNear(db, table, rows);
    if (missing.length < BATCH) {
      await store.createNearIndex(db, table);
      return store.dropOtherTables(db, table);
    }
  }
}

/**
 * The table is asked with the mean taken out of the query alone, so that the mean may move without touching its rows;
 * the exact scores of the candidates take it out of both.
 */
function readAround(db: Database, { embedder, dims }: ActiveEmbedder, mean: Float32Array): VectorsAround {
  const table = store.vectorTable(embedder);
  return async (query, count) => {
    const centred = query.map((value, k) => value - (mean[k] ?? 0));
    const docs = await store.findNear(db, table, centred, count * CANDIDATES_PER_NEIGHBOUR);
    const matrix = new VectorMatrix({ dims, shippedMean: mean, capacity: docs.length, isPlain: true });
    for (const { doc, vec } of await listVectorsOf(db, embedder, docs)) matrix.set(doc, vectorFromBytes(vec));
    return matrix;
  };
}
