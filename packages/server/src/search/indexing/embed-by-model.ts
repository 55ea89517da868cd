/**
 * Periodic work of a process that is configured with an embeddings model: records that the model is wanted, makes
 * missing vectors, and switches search to the model once no vector is missing. Batches run as fast as the model
 * responds, and each is stored separately, so a killed process loses one batch.
 *
 * While the model responds to anything at all, a failed batch is halved, so that one rejected text or a slow model does
 * not block the rest. A text that is rejected repeatedly on its own is set aside.
 */
import { createAdaptiveBatch } from "../../platform/resilience/adaptive-batch.ts";
import { embeddingInput } from "./document-terms.ts";
import type { EmbeddingOptions } from "./embed-built-in.ts";
import * as store from "./embeddings-store.ts";
import { activate, canActivate, keepVectors, type Embedder, type UnembeddedDocument } from "./embeddings-store.ts";
import {
  acceptVectors,
  remoteEmbedderId,
  withPrefix,
  type RemoteEmbedder,
  type ModelLength,
} from "../meaning/remote-embedder.ts";

export interface EmbedByModelOptions extends EmbeddingOptions {
  readonly model: RemoteEmbedder;
  readonly modelLength: ModelLength;
}

/** Texts per call; the SDK splits it by the model's own limit. */
const BATCH_MAX = 128;
/** Nobody waits for this, and a model on this machine's processor may need half a second per text. */
const CALL_MS_MAX = 60_000;
const PAUSE_AFTER_FAILURE_MS = 30_000;
/** Then this tick ends, so that another process may take the next one. */
const RUN_MS_MAX = 50_000;
/** Any short text: it only shows whether the model responds, and the length of its vectors. */
const PROBE_TEXT = "Title: prompt";

/** @returns the work of one tick. */
export function createEmbeddingByModel(options: EmbedByModelOptions): () => Promise<void> {
  const { db, log, clock, model, modelLength, closing } = options;
  const asker = createAsker(options);
  const embedSome = createBatches(options, asker);
  let embedder: Embedder | null = null;
  let isSure = false;
  let pausedUntilMs = 0;

  return async () => {
    if (embedder === null) await store.wantEmbeddersOf(db, model.model);
    else await store.wantEmbedder(db, embedder, model.model);
    if (clock.nowMs() < pausedUntilMs) return;
    if (modelLength.takeOther()) isSure = false;
    try {
      // Only queries notice that the model returns vectors of another length. A process without queries, which has all
      // vectors of the old length, would switch search back to them, so it probes the model again before switching.
      if (embedder === null || !isSure || (await canActivate(db, embedder.embedder, { mayReplaceModel: true }))) {
        embedder = await asker.identify();
        isSure = true;
        await store.wantEmbedder(db, embedder, model.model);
      }
      const endMs = clock.nowMs() + RUN_MS_MAX;
      while ((await embedSome(embedder)) && clock.nowMs() < endMs) closing.throwIfAborted();
      const isFlipped = await activate(db, embedder.embedder, { mayReplaceModel: true });
      if (isFlipped) log.info(embedder, "search now uses an embeddings model");
    } catch (error) {
      pausedUntilMs = clock.nowMs() + PAUSE_AFTER_FAILURE_MS;
      isSure = false; // the model may return vectors of another length from now on
      if (!closing.aborted) throw error; // the tick is logged as failed, and runs again
    }
  };
}

interface Asker {
  /** Finds out which embedder the model is, since the length of its vectors is not configured. */
  readonly identify: () => Promise<Embedder>;
  /**
   * Null: these texts failed, but the model accepts another text.
   * @throws the failure when the model accepts nothing.
   */
  readonly askFor: (documents: readonly UnembeddedDocument[], dims: number) => Promise<Float32Array[] | null>;
}

function createAsker({ model, closing }: EmbedByModelOptions): Asker {
  const textOf = (document: UnembeddedDocument) => withPrefix(model.documentPrefix, embeddingInput(document));
  async function ask(texts: readonly string[], dims: number | null): Promise<Float32Array[]> {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(CALL_MS_MAX)]);
    return acceptVectors(await model.embedTexts(texts, signal), { count: texts.length, dims });
  }
  return {
    identify: async () => {
      const [probe] = await ask([PROBE_TEXT], null);
      const dims = probe?.length ?? 0;
      return { embedder: remoteEmbedderId(model, dims), dims };
    },
    askFor: async (documents, dims) => {
      try {
        return await ask(documents.map(textOf), dims);
      } catch (error) {
        if (closing.aborted) throw error;
        await ask([PROBE_TEXT], dims).catch(() => {
          throw error;
        });
        return null;
      }
    },
  };
}

/**
 * @returns a function that makes vectors for some documents, unless another process is doing so, and returns whether
 * there may be more.
 */
function createBatches({ db, log, clock }: EmbedByModelOptions, { askFor }: Asker) {
  const refusals = new Refusals();
  const batch = createAdaptiveBatch({ max: BATCH_MAX });

  async function embedNext({ embedder, dims }: Embedder): Promise<boolean> {
    for (;;) {
      const documents = await store.listUnembedded(db, embedder, { limit: batch.size, except: refusals.docs() });
      if (documents.length === 0) return false;
      const vectors = await askFor(documents, dims);
      if (vectors !== null) {
        await keepVectors(db, embedder, pairUp(documents, vectors));
        batch.grow();
        return true;
      }
      if (documents.length === 1) {
        refusals.add(documents[0]?.doc ?? 0, clock.nowMs());
        return true;
      }
      batch.shrink(documents.length);
    }
  }
  async function askRefusedAgain({ embedder, dims }: Embedder): Promise<void> {
    const doc = refusals.nextDue(clock.nowMs());
    if (doc === null) return;
    const [document] = await store.listUnembedded(db, embedder, { limit: 1, only: [doc] });
    if (document === undefined) return refusals.forget(doc); // unpublished meanwhile, or embedded by another process
    const vectors = await askFor([document], dims);
    if (vectors === null) {
      refusals.add(doc, clock.nowMs());
      if (!refusals.isFinal(doc)) return;
      log.warn({ promptId: document.promptId }, SET_ASIDE);
    }
    const noMeaning = new Float32Array(dims);
    await keepVectors(db, embedder, pairUp([document], vectors ?? [noMeaning]));
    refusals.forget(doc);
  }
  return async (embedder: Embedder): Promise<boolean> => {
    if ((await store.listUnembedded(db, embedder.embedder, { limit: 1 })).length === 0) return false;
    return db.tx(
      async (tx) => {
        if (!(await store.tryLockEmbedding(tx, embedder.embedder))) return false;
        await askRefusedAgain(embedder);
        return embedNext(embedder);
      },
      { statementTimeoutMs: CALL_MS_MAX },
    );
  };
}

const SET_ASIDE =
  "the embeddings model rejects the text of this prompt; search finds it only by its words until its text or the model changes";

function pairUp(documents: readonly UnembeddedDocument[], vectors: readonly Float32Array[]) {
  return documents.map(({ doc }, i) => ({ doc, vector: vectors[i] as Float32Array }));
}

const AGAIN_AFTER_MS = [30_000, 300_000];

class Refusals {
  readonly #refused = new Map<number, { readonly times: number; readonly dueMs: number }>();

  docs(): number[] {
    return [...this.#refused.keys()];
  }

  nextDue(nowMs: number): number | null {
    for (const [doc, { dueMs }] of this.#refused) if (dueMs <= nowMs) return doc;
    return null;
  }

  add(doc: number, nowMs: number): void {
    const times = this.#refused.get(doc)?.times ?? 0;
    this.#refused.set(doc, { times: times + 1, dueMs: nowMs + (AGAIN_AFTER_MS[times] ?? 0) });
  }

  /** The text was rejected after every pause. */
  isFinal(doc: number): boolean {
    return (this.#refused.get(doc)?.times ?? 0) > AGAIN_AFTER_MS.length;
  }

  forget(doc: number): void {
    this.#refused.delete(doc);
  }
}
