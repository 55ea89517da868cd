/** Periodic work that keeps the index small and right. */
import type { Database } from "../../platform/database/database.ts";
import { deleteUnwanted } from "./embeddings-store.ts";
import { indexDocuments } from "./index-document.ts";
import { deleteOldChanges, deleteUnusedCounts, listOutdated, underIndexLock } from "./index-store.ts";

const OUTDATED_BATCH = 500;

/** Rows of vectors: some megabytes. */
const DELETED_AT_ONCE = 1_000;

/** Forgets what no process reads any more. */
export async function tidyIndex(db: Database): Promise<void> {
  await deleteOldChanges(db);
  await underIndexLock(db, deleteUnusedCounts);
  for (let isMore = true; isMore;) {
    isMore = await underIndexLock(db, (tx) => deleteUnwanted(tx, DELETED_AT_ONCE));
  }
}

/**
 * After an upgrade with another analyser, documents are taken apart anew, a batch at a time. They are read under the
 * lock: what somebody publishes or takes back meanwhile must not come back as it was.
 */
export async function renewOutdated(db: Database): Promise<void> {
  await underIndexLock(db, async (tx) => {
    const documents = await listOutdated(tx, OUTDATED_BATCH);
    if (documents.length > 0) await indexDocuments(tx, documents);
  });
}
