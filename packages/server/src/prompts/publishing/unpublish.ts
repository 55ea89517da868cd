/** Taking prompts out of the marketplace and bringing them back, with their entries in the search index. */
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
 * Unpublishes a prompt: from the commit on none of its versions can be found, read or run. Existing runs go on.
 * @throws Problem NOT_FOUND_ERROR when no prompt of this id was ever published.
 */
export function unpublishPrompt(db: Database, promptId: string): Promise<void> {
  return underPublishingLock(db, async (tx) => {
    if (!(await markUnpublished(tx, promptId))) throw notFound("prompt", promptId);
    await removeDocument(tx, promptId);
  });
}

/**
 * Publishes a prompt again as it was, all its published versions with it.
 * @throws Problem NOT_FOUND_ERROR when no prompt of this id was ever published; VALIDATION_ERROR when an operator has
 * unpublished it.
 */
export function republishPrompt(db: Database, promptId: string): Promise<void> {
  return underPublishingLock(db, async (tx) => {
    requireNotBlocked((await listPrompts(tx, [promptId])).values());
    if (!(await markPublished(tx, promptId))) throw notFound("prompt", promptId);
    await indexLatest(tx, promptId);
  });
}

/** Brings the search index to what is published of a prompt. */
export async function indexLatest(tx: Tx, promptId: string): Promise<void> {
  const [document] = await listSearchDocuments(tx, [promptId]);
  if (document === undefined) await removeDocument(tx, promptId);
  else await indexDocuments(tx, [document]);
}

/** What search is to find of these prompts. */
export async function listSearchDocuments(db: Queryable, promptIds: readonly string[]): Promise<SearchDocument[]> {
  return (await listSearchedTexts(db, promptIds)).map(toDocument);
}

/** @throws Problem VALIDATION_ERROR with the reason, which the author may read. */
export function requireNotBlocked(prompts: Iterable<PromptRow>): void {
  for (const { slug, blockReason } of prompts) {
    if (blockReason === null) continue;
    const message = `The prompt ${slug} was unpublished by an operator, so it cannot be published. The reason given: "${blockReason}". Ask the operator of this server to allow it again.`;
    throw invalid([{ path: ["path", "promptId"], code: "not_allowed", message }]);
  }
}
