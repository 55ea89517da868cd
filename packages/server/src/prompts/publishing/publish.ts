/**
 * Publishing. A prompt and its search index entry change in one transaction, so that whatever search finds can be run.
 */
import { isDeepStrictEqual } from "node:util";
import { USER_FLAGS } from "@promptd/contract";
import type { PromptPublication } from "@promptd/contract/manage";
import { addUserFlags } from "../../accounts/index.ts";
import type { Catalogue } from "../../models/index.ts";
import type { Database, Tx } from "../../platform/database/database.ts";
import { mapInSlices } from "../../platform/time-slice.ts";
import { indexDocuments, removeDocument } from "../../search/index.ts";
import { estimateBasis, estimatePrices } from "./estimates.ts";
import { indexLatest, requireNotBlocked, toDocument } from "./unpublish.ts";
import { buildConfig } from "./prompt-config.ts";
import type { PromptContent, PromptSource } from "../prompt-definition.ts";
import { findTargets, namePrompts, type Target } from "./new-prompt-or-version.ts";
import {
  insertPrompts,
  insertVersions,
  listLatestContents,
  listPrompts,
  lockPublishing,
  markPublished,
  nameOwnPrompts,
  setLatestVersions,
  setVersionTexts,
  type LatestContent,
  type NewPrompt,
  type NewVersion,
  type VersionNote,
} from "./publish-store.ts";

export interface PublishOptions extends Partial<VersionNote> {
  readonly authorId: string;
  readonly catalogue: Catalogue;
  readonly newId: () => string;
}

export type PublishedPrompt = Omit<PromptPublication, "version" | "warnings">;

/** The outcome of publishing one source. */
export interface Publication extends PublishedPrompt {
  /**
   * The prompt's previous title, if only the slug made from the new title matched it, and the titles differ: the author
   * may have meant two prompts. Otherwise null.
   */
  readonly replacedTitle: string | null;
  /** True: the prompt had been unpublished, and publishing made it and its older versions public again. */
  readonly isPublishedAgain: boolean;
}

const BATCH_MAX = 500;
const BULK = { statementTimeoutMs: 0 };

/**
 * Publishes all prompts of a file or none. If the author has a prompt with the same id or slug, it gets a new version,
 * unless nothing changed; otherwise a new prompt is made. Slugs are unique over all authors: the second one gets
 * `slug-2`.
 * @throws Problem VALIDATION_ERROR when an operator has unpublished a prompt.
 */
export function publishPrompts(
  db: Database,
  sources: readonly PromptSource[],
  options: PublishOptions,
): Promise<Publication[]> {
  return db.tx((tx) => publishIn(tx, sources, options), BULK);
}

/** Does the same within a transaction. */
export async function publishIn(
  tx: Tx,
  sources: readonly PromptSource[],
  options: PublishOptions,
): Promise<Publication[]> {
  await lockPublishing(tx);
  await addUserFlags(tx, options.authorId, USER_FLAGS.author);
  const targets = await findTargets(tx, sources, options);
  const targetIds = targets.map((target) => target.promptId);
  const before = await listPrompts(tx, targetIds);
  requireNotBlocked(before.values());
  const published = new Map<string, PublishedPrompt>();
  for (let at = 0; at < targets.length; at += BATCH_MAX)
    for (const prompt of await publishBatch(tx, targets.slice(at, at + BATCH_MAX), options))
      published.set(prompt.promptId, prompt);
  return targets.flatMap(({ promptId, replacedTitle }) => {
    const prompt = published.get(promptId);
    if (prompt === undefined) return [];
    return [{ ...prompt, replacedTitle, isPublishedAgain: before.get(promptId)?.isUnpublished ?? false }];
  });
}

async function publishBatch(tx: Tx, batch: readonly Target[], options: PublishOptions): Promise<PublishedPrompt[]> {
  const current = await listLatestContents(tx, batch.map(promptIdOf));
  const sources = new Map(batch.map((target) => [target.promptId, target.source]));
  const same = new Map<string, LatestContent>();
  await mapInSlices(current, (version) => {
    const source = sources.get(version.promptId);
    if (source !== undefined && isSame(version, source)) same.set(version.promptId, version);
  });
  await publishAgain(tx, [...same.keys()]);
  await setVersionTexts(
    tx,
    batch.flatMap((target) => textOfSame(target, same)),
  );
  const changed = batch.filter(({ promptId }) => !same.has(promptId));
  const versions = await publishTargets(tx, changed, options);
  const slugs = await listPrompts(tx, batch.map(promptIdOf));
  const versionIds = new Map(versions.map(({ promptId, id }) => [promptId, id]));
  return batch.map(({ promptId, source, isNew, isUnnamed = false }) => {
    const unchanged = same.get(promptId);
    return {
      promptId,
      promptVersionId: unchanged?.promptVersionId ?? versionIds.get(promptId) ?? "",
      slug: slugs.get(promptId)?.slug ?? "",
      title: source.title,
      outcome: unchanged !== undefined ? "unchanged" : isNew || isUnnamed ? "created" : "changed",
    };
  });
}

const promptIdOf = ({ promptId }: Target): string => promptId;

/** Changed comments and tests are stored with the existing version: they do not make a new one. */
function textOfSame({ promptId, source: { text } }: Target, same: ReadonlyMap<string, LatestContent>) {
  const version = same.get(promptId);
  return version === undefined || text === null ? [] : [{ promptVersionId: version.promptVersionId, text }];
}

/**
 * Whether a prompt's latest version has the same content as the file. The slug belongs to the prompt, not to the
 * version.
 */
function isSame(version: LatestContent, source: PromptSource): boolean {
  const { title, description, tags, model, definition, samples } = source;
  const wanted: unknown = JSON.parse(JSON.stringify({ title, description, tags, model, definition, samples }));
  const { promptId: _promptId, promptVersionId: _versionId, ...stored } = version;
  return isDeepStrictEqual(stored, wanted);
}

/** Publishes unpublished prompts again, without a new version. */
async function publishAgain(tx: Tx, promptIds: readonly string[]): Promise<void> {
  for (const { id, isUnpublished } of (await listPrompts(tx, promptIds)).values()) {
    if (!isUnpublished) continue;
    await markPublished(tx, id);
    await indexLatest(tx, id);
  }
}

async function publishTargets(
  tx: Tx,
  targets: readonly Target[],
  options: PublishOptions,
): Promise<readonly NewVersion[]> {
  if (targets.length === 0) return [];
  const created = targets.filter(({ isNew }) => isNew);
  const named = await namePrompts(
    tx,
    targets.filter(({ isNew, isUnnamed = false }) => isNew || isUnnamed),
  );
  const isCreated = ({ id }: NewPrompt): boolean => created.some(({ promptId }) => promptId === id);
  await insertPrompts(tx, options.authorId, named.filter(isCreated));
  await nameOwnPrompts(
    tx,
    named.filter((prompt) => !isCreated(prompt)),
  );
  const contents = targets.map(({ source, promptId, isNew }) => ({ ...source, promptId, isNew }));
  return publishVersions(tx, contents, options);
}

/** The content of a prompt version. */
export interface VersionContent extends PromptContent, Pick<PromptSource, "modality" | "text"> {
  readonly promptId: string;
  /** True: the prompt has no older version. */
  readonly isNew: boolean;
}

/** Makes the next version of each of these prompts, of any author. The caller must hold the publishing lock. */
export async function publishVersions(
  tx: Tx,
  contents: readonly VersionContent[],
  options: Pick<PublishOptions, "catalogue" | "newId" | "note" | "publishedBy">,
): Promise<NewVersion[]> {
  const { note = null, publishedBy = null } = options;
  if (contents.length === 0) return [];
  const versions = await mapInSlices(contents, (content) => newVersion(content, options));
  await insertVersions(tx, versions, { estimateBasis: estimateBasis(options.catalogue), note, publishedBy });
  await setLatestVersions(tx, versions);
  await indexVersions(tx, contents, versions);
  return versions;
}

/** Stores a version that nobody can find or read, and that only its author can run, as test runs. @returns its id. */
export async function storeFrozen(
  tx: Tx,
  content: VersionContent,
  options: Pick<PublishOptions, "catalogue" | "newId">,
): Promise<string> {
  const version = newVersion(content, options);
  await insertVersions(tx, [version], { estimateBasis: estimateBasis(options.catalogue), isFrozen: true });
  return version.id;
}

function newVersion(
  content: VersionContent,
  { catalogue, newId }: Pick<PublishOptions, "catalogue" | "newId">,
): NewVersion {
  const { promptId, title, description, tags, model, modality, definition, samples, text } = content;
  return {
    id: newId(),
    promptId,
    title,
    description,
    tags,
    model,
    modality,
    definition,
    config: buildConfig(definition, catalogue, model),
    samples,
    text,
    ...estimatePrices(content, catalogue),
  };
}

/** Search leaves out videos, so a prompt that now makes videos is removed from the index. */
async function indexVersions(
  tx: Tx,
  contents: readonly VersionContent[],
  versions: readonly NewVersion[],
): Promise<void> {
  const searched = versions.filter((version) => version.modality !== "video");
  const documents = searched.map((version) => toDocument({ ...version, promptVersionId: version.id }));
  if (documents.length > 0) await indexDocuments(tx, documents);
  for (const [index, version] of versions.entries())
    if (version.modality === "video" && contents[index]?.isNew === false) await removeDocument(tx, version.promptId);
}
