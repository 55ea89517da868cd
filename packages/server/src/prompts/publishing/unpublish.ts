/** Takes prompts out of the marketplace and brings them back, together with their search index entries. */
import type { Database, Queryable, Tx } from "../../platform/database/database.ts";
import { invalid, notFound } from "../../platform/problem.ts";
import { indexDocuments, removeDocument, type SearchDocument } from "../../search/index.ts";
import {
  listPrompts,
  listSearchedTexts,
  markPublished,
  markUnpublished,
  underPublishingLock,
  type PromptRow,
  type SearchedText,
} from "./publish-store.ts";

export function toDocument(version: SearchedText): SearchDocument {
  const { promptId, promptVersionId, title, description, tags, definition } = version;
  return {
    promptId,
    promptVersionId,
    title,
    description,
    tags,
    inputNames: definition.inputs.map((input) => input.key),
  };
}

/**
 * Unpublishes a prompt: after the commit, none of its versions can be found, read, or run. Existing runs continue.
 * @throws Problem NOT_FOUND_ERROR when no prompt with this id was ever published.
 */
export function unpublishPrompt(db: Database, promptId: string): Promise<void> {
  return underPublishingLock(db, async (tx) => {
    if (!(await markUnpublished(tx, promptId))) throw notFound("prompt", promptId);
    await removeDocument(tx, promptId);
  });
}

/**
 * Publishes a prompt again as it was, with all its published versions.
 * @throws Problem NOT_FOUND_ERROR when no prompt with this id was ever published; VALIDATION_ERROR when an operator has
 * unpublished it.
 */
export function republishPrompt(db: Database, promptId: string): Promise<void> {
  return underPublishingLock(db, async (tx) => {
    requireNotBlocked((await listPrompts(tx, [promptId])).values());
    if (!(await markPublished(tx, promptId))) throw notFound("prompt", promptId);
    await indexLatest(tx, promptId);
  });
}

/** Updates the search index to match what is published of a prompt. */
export async function indexLatest(tx: Tx, promptId: string): Promise<void> {
  const [document] = await listSearchDocuments(tx, [promptId]);
  if (document === undefined) await removeDocument(tx, promptId);
  else await indexDocuments(tx, [document]);
}

/** Lists the search documents of these prompts. */
export async function listSearchDocuments(db: Queryable, promptIds: readonly string[]): Promise<SearchDocument[]> {
  return (await listSearchedTexts(db, promptIds)).map(toDocument);
}

/** @throws Problem VALIDATION_ERROR with the operator's reason, for the author to read. */
export function requireNotBlocked(prompts: Iterable<PromptRow>): void {
  for (const { slug, blockReason } of prompts) {
    if (blockReason === null) continue;
    const message = `The prompt ${slug} was unpublished by an operator, so it cannot be published. Reason: "${blockReason}". Ask the server's operator to allow it again.`;
    throw invalid([{ path: ["path", "promptId"], code: "not_allowed", message }]);
  }
}
