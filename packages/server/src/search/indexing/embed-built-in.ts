/** Periodic work of every process: makes the built-in vectors, and returns search to them when no model is wanted. */
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import { foldDocument, loadBuiltInEmbedder, type BuiltInEmbedder } from "../meaning/built-in-embedder.ts";
import { weighFields } from "./document-terms.ts";
import * as store from "./embeddings-store.ts";
import { activate, keepVectors, type UnembeddedDocument, type MadeVector } from "./embeddings-store.ts";
import { underIndexLock } from "./index-store.ts";
import { mapInSlices } from "../../platform/time-slice.ts";

export interface EmbeddingOptions {
  readonly db: Database;
  readonly log: Log;
  readonly clock: Clock;
  /** Fires when the process closes: calls in progress are aborted, and everything stored so far stays. */
  readonly closing: AbortSignal;
}

const BATCH = 500;
/**
 * Nearly until the next tick: after an upgrade with other tables, search finds prompts only by words until this is
 * done.
 */
const SLICE_MS_MAX = 50_000;

/**
 * Recomputes all vectors after an upgrade with other tables. Otherwise, publishing has already written them.
 * @param mayReplaceModel false in a process that is configured with a model: it does not take search away from a model.
 */
export async function embedByBuiltIn(
  { db, log, clock, closing }: EmbeddingOptions,
  mayReplaceModel: boolean,
): Promise<void> {
  const base = await loadBuiltInEmbedder();
  await underIndexLock(db, (tx) => store.ensureEmbedder(tx, base.embedder, base.dims));
  await store.wantBuiltIn(db, base.embedder);
  const endMs = clock.nowMs() + SLICE_MS_MAX;
  while (!closing.aborted && clock.nowMs() < endMs) {
    const documents = await store.listUnembedded(db, base.embedder, { limit: BATCH });
    if (documents.length === 0) break;
    await keepVectors(db, base.embedder, await foldAll(base, documents));
  }
  if (await activate(db, base.embedder, { mayReplaceModel })) {
    log.info({ embedder: base.embedder }, "search now uses the built-in vectors");
  }
}

function foldAll(base: BuiltInEmbedder, documents: readonly UnembeddedDocument[]): Promise<MadeVector[]> {
  return mapInSlices(documents, (document) => ({
    doc: document.doc,
    vector: foldDocument(base, weighFields(document)) ?? new Float32Array(base.dims),
  }));
}
