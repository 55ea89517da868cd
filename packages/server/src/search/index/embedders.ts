/**
 * What becomes of the embedders of an installation. Every process says which one it is set to (`wanted_at`), so that
 * one without the setting of the others, or an older one after a roll-back, does not take the model from them.
 *
 *   building --every document has its vector, and no process wants the active model--> active
 *   active --another becomes active--> retired --wanted again--> building
 *   building or retired --unwanted for a day--> deleted
 */
import type { Database } from "../../platform/database/database.ts";
import * as store from "./embeddings-store.ts";
import { lockIndex } from "./index-store.ts";

/** @returns whether search answers with this embedder from now on. */
export async function activate(
  db: Database,
  embedder: string,
  { mayReplaceModel }: { readonly mayReplaceModel: boolean },
): Promise<boolean> {
  if (!(await store.canActivate(db, embedder, mayReplaceModel))) return false;
  return db.tx(async (tx) => {
    await lockIndex(tx); // from here on no document comes in between
    if (!(await store.canActivate(tx, embedder, mayReplaceModel))) return false;
    await store.setActive(tx, embedder);
    return true;
  });
}

export interface MadeVector {
  readonly doc: number;
  readonly vector: Float32Array;
}

/** Stores vectors and tells the processes that hold such. */
export async function keepVectors(db: Database, embedder: string, vectors: readonly MadeVector[]): Promise<void> {
  await db.tx(async (tx) => {
    await store.insertVectors(tx, embedder, vectors);
    await store.noteVectors(
      tx,
      embedder,
      vectors.map(({ doc }) => doc),
    );
  });
}
