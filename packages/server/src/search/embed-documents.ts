/**
 * Periodic work: gives every document the vectors it lacks and moves the installation to the embedder its settings
 * name. Each turn does one bounded piece and leaves the rest to the next, so a killed process loses one batch.
 *
 *   building --every document has its vector--> active --another becomes active--> retired --24 h--> deleted
 */
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import type { Log } from "../platform/log.ts";
import { foldDocument } from "./built-in-embedder.ts";
import type { BuiltInEmbedder } from "./built-in-embedder.ts";
import { embeddingInput, weighFields } from "./document-terms.ts";
import * as store from "./embeddings-store.ts";
import type { EmbedderState, UnembeddedDocument } from "./embeddings-store.ts";
import { lockIndex } from "./index-store.ts";
import { acceptVectors, remoteEmbedderId } from "./remote-embedder.ts";
import type { EmbeddingsModel } from "./remote-embedder.ts";
import { loadBuiltInEmbedder } from "./search-data.ts";

export interface EmbedDocumentsOptions {
  readonly db: Database;
  readonly log: Log;
  readonly clock: Clock;
  /** Null: the built-in embedder is the one to use. */
  readonly model: EmbeddingsModel | null;
}

/** The built-in embedder folds a thousand documents in a tenth of a second. */
const BUILT_IN_BATCH = 500;
const BUILT_IN_BATCHES_PER_TURN = 10;
/** One call; the SDK splits it by the model's own limit. */
const REMOTE_BATCH = 128;
const REMOTE_TIMEOUT_MS = 5_000;
const PAUSE_AFTER_FAILURE_MS = 30_000;
/** Any text: only the length of the vector is looked at. */
const PROBE_TEXT = "Title: prompt";

/** @returns the work of one turn. */
export function createEmbedding(options: EmbedDocumentsOptions): () => Promise<void> {
  const { db, model } = options;
  let wanted: Wanted | null = null;
  let pausedUntilMs = 0;

  async function embedRemotely(texts: readonly string[], dims: number | null): Promise<Float32Array[]> {
    if (model === null) return [];
    const vectors = await model.embedTexts(texts, AbortSignal.timeout(REMOTE_TIMEOUT_MS));
    return acceptVectors(vectors, { count: texts.length, dims });
  }
  /** Once per process: an operator's change of the setting takes effect at the restart that it needs anyway. */
  async function chooseWanted(base: BuiltInEmbedder): Promise<Wanted> {
    if (model === null) return declare(db, { embedder: base.embedder, dims: base.dims });
    const [probe] = await embedRemotely([PROBE_TEXT], null);
    const dims = probe?.length ?? 0;
    return declare(db, { embedder: remoteEmbedderId(model.model, dims), dims });
  }
  async function embedNext({ embedder, dims }: Wanted, state: EmbedderState): Promise<void> {
    const documents = await store.listUnembedded(db, embedder, REMOTE_BATCH);
    if (documents.length === 0) return;
    const vectors = await embedRemotely(documents.map(embeddingInput), dims);
    await keepVectors(db, { embedder, documents, vectors, isRead: state === "active" });
  }
  return async () => {
    const base = await loadBuiltInEmbedder();
    await embedBuiltIn(db, base);
    if (options.clock.nowMs() < pausedUntilMs) return;
    try {
      wanted ??= await chooseWanted(base);
      const state = await store.findEmbedder(db, wanted.embedder);
      if (model !== null && (state === "building" || state === "active")) await embedNext(wanted, state);
      if (state === "building" && (await activate(db, wanted))) {
        options.log.info({ embedder: wanted.embedder }, "search answers with another embedder now");
      }
    } catch (error) {
      pausedUntilMs = options.clock.nowMs() + PAUSE_AFTER_FAILURE_MS;
      throw error; // the tick is logged as failed and comes again
    }
  };
}

interface Wanted {
  readonly embedder: string;
  readonly dims: number;
}

async function declare(db: Database, wanted: Wanted): Promise<Wanted> {
  await db.tx(async (tx) => {
    await lockIndex(tx);
    await store.beginBuilding(tx, wanted.embedder, wanted.dims);
  });
  return wanted;
}

function activate(db: Database, { embedder }: Wanted): Promise<boolean> {
  return db.tx(async (tx) => {
    await lockIndex(tx);
    return store.activateIfComplete(tx, embedder);
  });
}

/** After an upgrade with other base vectors; else publishing has written them already. */
async function embedBuiltIn(db: Database, base: BuiltInEmbedder): Promise<void> {
  if ((await store.findEmbedder(db, base.embedder)) === null) {
    await db.tx(async (tx) => {
      await lockIndex(tx);
      await store.ensureEmbedder(tx, base.embedder, base.dims);
    });
  }
  for (let i = 0; i < BUILT_IN_BATCHES_PER_TURN; i += 1) {
    const documents = await store.listUnembedded(db, base.embedder, BUILT_IN_BATCH);
    if (documents.length === 0) return;
    const vectors = documents.map(
      (document) => foldDocument(base, weighFields(document)) ?? new Float32Array(base.dims),
    );
    await keepVectors(db, { embedder: base.embedder, documents, vectors, isRead: true });
  }
}

interface MadeVectors {
  readonly embedder: string;
  readonly documents: readonly UnembeddedDocument[];
  readonly vectors: readonly Float32Array[];
  /** Some process holds this embedder's vectors and must hear of new ones. */
  readonly isRead: boolean;
}

async function keepVectors(db: Database, { embedder, documents, vectors, isRead }: MadeVectors): Promise<void> {
  const docs = documents.map(({ doc }) => doc);
  const rows = docs.map((doc, i) => ({ doc, vector: vectors[i] as Float32Array }));
  await db.tx(async (tx) => {
    await store.insertVectors(tx, embedder, rows);
    if (isRead) await store.noteVectors(tx, docs);
  });
}
