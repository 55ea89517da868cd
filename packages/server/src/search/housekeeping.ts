/** Periodic work that keeps the index small and right. */
import type { Database } from "../platform/database.ts";
import type { Log } from "../platform/log.ts";
import { deleteRetired } from "./embeddings-store.ts";
import { indexDocuments } from "./index-document.ts";
import {
  deleteOldChanges,
  deleteUnusedCounts,
  listOutdated,
  lockIndex,
  recountTerms,
  vacuumPostings,
} from "./index-store.ts";
import { loadBuiltInEmbedder } from "./search-data.ts";

const OUTDATED_BATCH = 500;

/** Forgets what no process reads any more. */
export async function tidyIndex(db: Database): Promise<void> {
  const base = await loadBuiltInEmbedder();
  await deleteOldChanges(db);
  await deleteRetired(db, base.embedder);
  await db.tx(async (tx) => {
    await lockIndex(tx);
    await deleteUnusedCounts(tx);
  });
}

/** For after a bulk import: until then queries visit the table for every posting. Outside of any transaction. */
export async function vacuumIndex(db: Database): Promise<void> {
  await vacuumPostings(db);
}

/** After an upgrade with another analyser, documents are taken apart anew, a batch at a time. */
export async function renewOutdated(db: Database): Promise<void> {
  await db.tx(async (tx) => {
    const documents = await listOutdated(tx, OUTDATED_BATCH);
    if (documents.length > 0) await indexDocuments(tx, documents);
  });
}

/** Counts are kept by adding and taking away; once a week they are held against the postings themselves. */
export async function auditCounts(db: Database, log: Log): Promise<void> {
  const wrong = await db.tx(
    async (tx) => {
      await lockIndex(tx);
      return recountTerms(tx);
    },
    { statementTimeoutMs: 60_000 },
  );
  if (wrong > 0) log.error({ terms: wrong }, "counts of the search index had drifted from its postings; corrected");
}
