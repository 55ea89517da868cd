/** Adds documents to the index and removes them, in the transaction that publishes or unpublishes them. */
import type { Tx } from "../../platform/database/database.ts";
import { foldDocument, loadBuiltInEmbedder } from "../meaning/built-in-embedder.ts";
import { analyseDocument, storableText, type SearchDocument } from "./document-terms.ts";
import { ensureEmbedder, insertVectors } from "./embeddings-store.ts";
import {
  deleteDocuments,
  insertDocuments,
  listIndexed,
  lockIndex,
  renameVersions,
  type NewDocument,
} from "./index-store.ts";
import { mapInSlices } from "../../platform/time-slice.ts";

const BATCH_MAX = 500;

/**
 * Indexes these versions, in batches of 500, so that search finds them once the transaction commits. They replace the
 * text of older versions. Of several documents of one prompt, the last counts. Unchanged text keeps its postings and
 * vectors.
 */
export async function indexDocuments(tx: Tx, documents: readonly SearchDocument[]): Promise<void> {
  await lockIndex(tx);
  const latest = [...new Map(documents.map((document) => [document.promptId.toLowerCase(), document])).values()];
  for (let i = 0; i < latest.length; i += BATCH_MAX) {
    await indexBatch(tx, await mapInSlices(latest.slice(i, i + BATCH_MAX), prepareDocument));
  }
}

/** Removes the prompt from search once the transaction commits. Does nothing if it is not indexed. */
export function removeDocument(tx: Tx, promptId: string): Promise<void> {
  return removeDocuments(tx, [promptId]);
}

export async function removeDocuments(tx: Tx, promptIds: readonly string[]): Promise<void> {
  await lockIndex(tx);
  const indexed = await listIndexed(tx, promptIds);
  await deleteDocuments(
    tx,
    indexed.map(({ doc }) => doc),
  );
}

async function indexBatch(tx: Tx, documents: readonly NewDocument[]): Promise<void> {
  const indexed = await listIndexed(
    tx,
    documents.map(({ promptId }) => promptId),
  );
  const before = new Map(indexed.map((row) => [row.promptId, row]));
  const isSame = (document: NewDocument) =>
    before.get(document.promptId)?.contentHash.equals(document.contentHash) === true;
  await renameVersions(
    tx,
    documents.filter(isSame).map((document) => [before.get(document.promptId)?.doc ?? 0, document.promptVersionId]),
  );
  const changed = documents.filter((document) => !isSame(document));
  await deleteDocuments(
    tx,
    changed.flatMap(({ promptId }) => before.get(promptId)?.doc ?? []),
  );
  if (changed.length === 0) return;
  const docOf = await insertDocuments(tx, changed);
  await embedBuiltIn(tx, changed, docOf);
}

/** Built-in vectors take microseconds, so they are made at once. */
async function embedBuiltIn(tx: Tx, documents: readonly NewDocument[], docOf: ReadonlyMap<string, number>) {
  const base = await loadBuiltInEmbedder();
  await ensureEmbedder(tx, base.embedder, base.dims);
  const vectors = await mapInSlices(documents, ({ promptId, weights }) => ({
    doc: docOf.get(promptId) ?? 0,
    vector: foldDocument(base, weights) ?? new Float32Array(base.dims),
  }));
  await insertVectors(tx, base.embedder, vectors);
}

function prepareDocument(document: SearchDocument): NewDocument {
  const clean = {
    promptId: document.promptId.toLowerCase(), // as the database returns it
    promptVersionId: document.promptVersionId,
    title: storableText(document.title),
    description: storableText(document.description),
    tags: document.tags.map(storableText),
    inputNames: document.inputNames.map(storableText),
  };
  return { ...clean, ...analyseDocument(clean) };
}
