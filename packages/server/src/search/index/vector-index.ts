/**
 * The vectors in pgvector, for catalogues too large to scan: PostgreSQL names the candidates, and their exact vectors
 * decide. Used where an operator has created the extension; dropped, the scan of the process's own copy answers again.
 *
 *   absent --create table--> filling --all vectors in, build the index--> ready --drop extension--> absent
 */
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import { isOutage } from "../../platform/database/errors.ts";
import type { Log } from "../../platform/log.ts";
import { findActive, listVectorsOf, vectorFromBytes } from "./embeddings-store.ts";
import type { VectorsAround } from "../meaning/meaning.ts";
import type { ActiveEmbedder } from "./mirror-store.ts";
import { VectorMatrix } from "../meaning/vector-matrix.ts";
import * as store from "./vector-index-store.ts";

export interface VectorIndexOptions {
  readonly db: Database;
  readonly log: Log;
  readonly clock: Clock;
  /** Test only: from how many documents on the table is made. */
  readonly indexFromDocuments?: number | undefined;
}

export interface VectorIndex {
  /** Null while the table is not ready, or not there: then the process's own copy is scanned. */
  around(embedder: string): VectorsAround | null;
  /** Looks whether the extension and the finished table of the active embedder are there. Never rejects. */
  look(): Promise<void>;
  /** One turn of keeping the table: makes it, fills it, adds what came since. An index is built beside the turns. */
  maintain(): Promise<void>;
}

/** Below this the exact scan is the faster one: 8 ms for 100,000 vectors of 300 numbers (measured 2026-11-21). */
const INDEX_FROM_DOCUMENTS = 200_000;
const BATCH = 500;
const BATCHES_PER_TURN = 20;
const PAUSE_AFTER_FAILURE_MS = 10_000;
/** Candidates for each neighbour that is asked for: the index orders by another angle than the exact score. */
const CANDIDATES_PER_NEIGHBOUR = 3;

export function createVectorIndex(options: VectorIndexOptions): VectorIndex {
  const { db, log, clock } = options;
  let open: Open | null = null;
  const giveUp = () => {
    open = null;
  };

  /** Null only when the extension, the table or its index is not there. The mean hardly moves, so it is read once. */
  async function findOpen(): Promise<Open | null> {
    const active = await findActive(db);
    if (active === null || !(await store.hasVectorExtension(db))) return null;
    const table = store.vectorTable(active.embedder);
    if ((await store.readIndexState(db, table)) !== "ready") return null;
    if (open?.embedder === active.embedder) return open;
    const mean = await store.readMean(db, table);
    if (mean === null) return null;
    const around = guardAround(readAround(db, active, mean), { clock, log, onGone: giveUp });
    return { embedder: active.embedder, around };
  }
  return {
    around: (embedder) => (open?.embedder === embedder ? open.around : null),
    look: async () => {
      try {
        open = await findOpen();
      } catch (error) {
        log.warn({ err: error }, "it could not be seen whether vectors are indexed; search goes on as before");
      }
    },
    maintain: async () => {
      const active = await findActive(db);
      if (active === null || !(await store.hasVectorExtension(db))) return;
      const isLarge = await store.hasDocuments(db, options.indexFromDocuments ?? INDEX_FROM_DOCUMENTS);
      if (isLarge) await keepTable(options, active);
    },
  };
}

interface Open {
  readonly embedder: string;
  readonly around: VectorsAround;
}

interface GuardOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The table or its extension was dropped a moment ago. */
  readonly onGone: () => void;
}

/**
 * Where the table fails there are no vectors for this query, and the words still find. What is only late or locked is
 * left alone for a while and kept: to give it up is to read all vectors into this process.
 */
export function guardAround(around: VectorsAround, { clock, log, onGone }: GuardOptions): VectorsAround {
  let pausedUntilMs = 0;
  const noVectors = (dims: number) => new VectorMatrix({ dims, shippedMean: null, isPlain: true });
  return async (vector, count) => {
    if (clock.nowMs() < pausedUntilMs) return noVectors(vector.length);
    try {
      return await around(vector, count);
    } catch (error) {
      if (isOutage(error)) {
        pausedUntilMs = clock.nowMs() + PAUSE_AFTER_FAILURE_MS;
        log.warn({ err: error }, "the index of vectors did not answer in time; search finds by words for a while");
      } else {
        onGone();
        log.warn({ err: error }, "the index of vectors did not answer; search scans its own copy of the vectors");
      }
      return noVectors(vector.length);
    }
  };
}

/** Adds what the table lacks; once it lacks nothing it gets its index. */
async function keepTable({ db, log }: VectorIndexOptions, { embedder, dims }: ActiveEmbedder): Promise<void> {
  const table = store.vectorTable(embedder);
  await store.createVectorTable(db, table, dims);
  await store.deleteOrphans(db, table, BATCH);
  for (let i = 0; i < BATCHES_PER_TURN; i += 1) {
    const missing = await store.listMissing(db, table, embedder, BATCH);
    const rows = missing.map(({ doc, vec }) => ({ doc, vector: vectorFromBytes(vec) }));
    await store.insertNear(db, table, rows);
    if (missing.length < BATCH) return finishTable(db, log, table);
  }
}

async function finishTable(db: Database, log: Log, table: string): Promise<void> {
  if ((await store.readIndexState(db, table)) === "ready") return store.dropOtherTables(db, table);
  const { built } = await store.startNearIndex(db, table);
  void built.catch((error: unknown) =>
    log.warn({ err: error }, "the index of vectors was not built; it is begun again"),
  );
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
