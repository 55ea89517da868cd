/** Periodic work that keeps the index small and correct. */
import type { Database } from "../../platform/database/database.ts";
import { deleteUnwanted } from "./embeddings-store.ts";
import { indexDocuments } from "./index-document.ts";
import { deleteOldChanges, deleteUnusedCounts, listOutdated, underIndexLock } from "./index-store.ts";

const OUTDATED_BATCH = 500;

/** Rows of vectors: some megabytes. */
const DELETED_AT_ONCE = 1_000;

/** Deletes what no process reads any longer. */
export async function tidyIndex(db: Database): Promise<void> {
  await deleteOldChanges(db);
  await underIndexLock(db, deleteUnusedCounts);
  for (let isMore = true; isMore;) {
    isMore = await underIndexLock(db, (tx) => deleteUnwanted(tx, DELETED_AT_ONCE));
  }
}

/**
 * Indexes documents again, a batch at a time, after an upgrade with another analyser version. It reads them under the
 * lock, so that it does not restore an old state of prompts that are published or unpublished meanwhile.
 */
export async function renewOutdated(db: Database): Promise<void> {
  await underIndexLock(db, async (tx) => {
    const documents = await listOutdated(tx, OUTDATED_BATCH);
    if (documents.length > 0) await indexDocuments(tx, documents);
  });
}
