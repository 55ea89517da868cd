/** Periodic work of every process: the built-in embedder's vectors, and search back to them when no model is wanted. */
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
  /** Fires when the process closes: what is being asked is given up, and what was stored by then stays. */
  readonly closing: AbortSignal;
}

const BATCH = 500;
/** Nearly until the next turn: after an upgrade with other tables prompts are found by words alone until this is done. */
const SLICE_MS_MAX = 50_000;

/**
 * Publishing has written the vectors already; only after an upgrade with other tables all are made anew.
 * @param mayReplaceModel false in a process that is set to a model: it does not take search from that model.
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
    log.info({ embedder: base.embedder }, "search answers with the built-in vectors now");
  }
}

function foldAll(base: BuiltInEmbedder, documents: readonly UnembeddedDocument[]): Promise<MadeVector[]> {
  return mapInSlices(documents, (document) => ({
    doc: document.doc,
    vector: foldDocument(base, weighFields(document)) ?? new Float32Array(base.dims),
  }));
}
