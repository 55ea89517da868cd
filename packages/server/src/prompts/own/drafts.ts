/** Drafts: the text of a prompt before it is published, and how it becomes a version. */
import { ISSUES_MAX } from "@promptd/contract";
import type { PromptPublication } from "@promptd/contract/manage";
import { availability, unavailableSentence, type Catalogue } from "../../models/index.ts";
import type { Database, Queryable, Tx } from "../../platform/database/database.ts";
import { invalid, orNotFound, type Problem } from "../../platform/problem.ts";
import { describePublication } from "../authoring/describe-publication.ts";
import { readPromptFile } from "../format/prompt-file.ts";
import { fileOfPrompt } from "../format/write-prompt-file.ts";
import type { PromptSource } from "../prompt-definition.ts";
import { FaultList, faultText, PromptFileError } from "../prompt-fault.ts";
import { findPromptOf, parseInSlices } from "../checks/parse-prompt-file.ts";
import { slugOfDraft, withOwnIds } from "../publishing/new-prompt-or-version.ts";
import { publishIn, storeFrozen, type Publication } from "../publishing/publish.ts";
import { listVersionNumbers, lockPublishing } from "../publishing/publish-store.ts";
import {
  countNewDrafts,
  deleteDraftRow,
  deleteEmptyPrompt,
  findDraft,
  findFrozenWith,
  insertDraft,
  insertNewDraft,
  lockDraft,
  setFrozenVersion,
  updateDraft,
  type Draft,
} from "./drafts-store.ts";
import { deleteSample, type ReleaseSample } from "./samples-store.ts";
import { findIntendedPrompts, requireOwnPrompt, requireOwnVersion } from "./own-prompts-store.ts";
import { readInOrder } from "./read-in-order.ts";

export interface DraftOptions {
  readonly db: Database;
  readonly catalogue: Catalogue;
  readonly newId: () => string;
  /** The most that one run may hold. */
  readonly holdMaxCredits: number;
}

/** A person who edits prompts, and the account that owns them. */
export interface Author {
  readonly accountId: string;
  readonly personId: string | null;
}

/** How many never-published prompts an account may have, so that a runaway program cannot fill the database. */
const NEW_DRAFTS_MAX = 1_000;
const BULK = { statementTimeoutMs: 0 };

const FIRST_SOURCE = `---
promptd: 1
title: Untitled prompt
description: What it makes, in one sentence.
model: text-default
inputs:
  topic: { description: What to write about }
samples:
  - inputs: { topic: tea }
---
Write two sentences about {{ topic }}.
`;

/** @returns the promptId, which stays the same when the draft is published. */
export async function createDraft(
  { accountId, personId }: Author,
  source: string = FIRST_SOURCE,
  { db, newId }: DraftOptions,
): Promise<string> {
  const promptId = newId();
  const draft = { promptId, source, title: await titleOf(accountId, source), savedBy: personId };
  await db.tx(async (tx) => {
    if ((await countNewDrafts(tx, accountId)) >= NEW_DRAFTS_MAX) throw tooManyDrafts();
    await insertNewDraft(tx, accountId, slugOfDraft(promptId), draft);
  });
  return promptId;
}

function tooManyDrafts(): Problem {
  const message = `This account has ${NEW_DRAFTS_MAX.toLocaleString("en-US")} drafts that were never published. Publish or delete some.`;
  return invalid([{ path: ["body", "source"], code: "too_many", message }]);
}

/** The title in a draft's text, even if the text is not finished. */
async function titleOf(accountId: string, source: string): Promise<string> {
  const [written] = await readInOrder(accountId, () => readPromptFile(source, new FaultList()));
  // A mistake elsewhere in the file must not lose the title.
  const [, line = ""] = /^title:(.+)/m.exec(source) ?? [];
  const title = (written?.raw.title ?? line.trim().replaceAll(/^["']|["']$/g, "")).trim();
  return title === "" ? "Untitled prompt" : Array.from(title).slice(0, 200).join("");
}

/** @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR when the draft is no longer at this revision. */
export async function saveDraft(
  { accountId, personId }: Author,
  promptId: string,
  { source, revision }: { readonly source: string; readonly revision: number },
  { db }: DraftOptions,
): Promise<void> {
  await requireOwnPrompt(db, accountId, promptId);
  const draft = { promptId, source, title: await titleOf(accountId, source), savedBy: personId };
  const isSaved = revision === 0 ? await insertDraft(db, draft) : await updateDraft(db, draft, revision);
  if (isSaved) return;
  const now = await findDraft(db, accountId, promptId);
  // A client that lost the response may send the same save again.
  if (now?.source !== source || now.revision !== revision + 1) throw changedMeanwhile(now, revision);
}

function changedMeanwhile(draft: Draft | null, revision: number): Problem {
  const now =
    draft === null
      ? "the draft no longer exists: it was published or deleted"
      : `the draft is now at revision ${draft.revision}`;
  const message = `The request is for revision ${revision}, but ${now}. Reload the prompt, then apply your changes to its current text.`;
  return invalid([{ path: ["body", "revision"], code: "conflict", message }]);
}

/** @throws Problem NOT_FOUND_ERROR when the account does not own the prompt, or the prompt has no draft. */
export function deleteDraft(
  { accountId }: Author,
  promptId: string,
  { db, releaseSample }: DraftOptions & { readonly releaseSample: ReleaseSample },
): Promise<{ promptId: string; isPromptDeleted: boolean }> {
  return db.tx(async (tx) => {
    const deleted = orNotFound(await deleteDraftRow(tx, accountId, promptId), "prompt with a draft", promptId);
    if (deleted.isNew) {
      await deleteSample(tx, promptId, releaseSample);
      await deleteEmptyPrompt(tx, promptId);
    }
    return { promptId, isPromptDeleted: deleted.isNew };
  });
}

/**
 * Finds the draft at this revision.
 * @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR at another revision, or without a draft.
 */
async function requireDraft(
  { accountId }: Author,
  { promptId, revision }: { readonly promptId: string; readonly revision: number },
  { db }: DraftOptions,
): Promise<Draft> {
  const draft = await findDraft(db, accountId, promptId);
  if (draft === null) await requireOwnPrompt(db, accountId, promptId);
  if (draft?.revision !== revision) throw changedMeanwhile(draft, revision);
  return draft;
}

/**
 * Publishes a draft as the next version of its prompt, and deletes it.
 * @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR for faults in the text, or when the draft or the latest version has
 * changed.
 */
export async function publishDraft(
  author: Author,
  request: { promptId: string; revision: number; baseVersionId: string | null; note: string | null },
  options: DraftOptions,
): Promise<PromptPublication> {
  const { promptId, revision, baseVersionId } = request;
  const draft = await requireDraft(author, request, options);
  const source = await onlyPrompt(author.accountId, { promptId, text: draft.source }, options);
  return publishOne(author, source, { ...options, note: request.note }, async (tx) => {
    const now = await lockDraft(tx, author.accountId, promptId);
    if (now?.revision !== revision) throw changedMeanwhile(now, revision);
    if (now.latestVersionId !== baseVersionId) throw publishedMeanwhile();
    await deleteDraftRow(tx, author.accountId, promptId);
  });
}

function publishedMeanwhile(): Problem {
  const message =
    "Another version has been published since this draft was compared. Compare the draft with the latest version, then publish it with that version as baseVersionId.";
  return invalid([{ path: ["body", "baseVersionId"], code: "conflict", message }]);
}

async function publishOne(
  { accountId, personId }: Author,
  source: PromptSource,
  options: DraftOptions & { readonly note: string | null },
  before: (tx: Tx) => Promise<void>,
): Promise<PromptPublication> {
  const [published] = await options.db.tx(async (tx) => {
    await lockPublishing(tx);
    await before(tx);
    const made = await publishIn(tx, [source], { ...options, authorId: accountId, publishedBy: personId });
    return describePublications(tx, [source], made);
  }, BULK);
  if (published === undefined) throw new Error("Publishing one prompt returned nothing.");
  return published;
}

/** @param sources as written in the file, in the order of the publications. */
async function describePublications(
  tx: Tx,
  sources: readonly PromptSource[],
  publications: readonly Publication[],
): Promise<PromptPublication[]> {
  const ids = publications.map(({ promptVersionId }) => promptVersionId);
  const numbers = await listVersionNumbers(tx, ids);
  return publications.flatMap((publication, at) => {
    const source = sources[at];
    if (source === undefined) return [];
    const { promptId, promptVersionId, slug, title, outcome } = publication;
    const warnings = describePublication(source, publication);
    return [{ promptId, promptVersionId, version: numbers.get(promptVersionId) ?? 1, slug, title, outcome, warnings }];
  });
}

/** Publishes all prompts of a file or none, as `promptd prompt publish` does. */
export async function publishPromptFile(
  { accountId, personId }: Author,
  { source: text, note }: { readonly source: string; readonly note: string | null },
  options: DraftOptions,
): Promise<PromptPublication[]> {
  const { db } = options;
  const parsed = await readPublishable(accountId, text, options);
  const read = await withOwnIds(db, parsed, accountId);
  const meant = await findIntendedPrompts(db, accountId, read);
  const named = new Set(read.map(({ promptId }) => promptId));
  const sources = read.map((source, at) => {
    const draft = meant[at]?.isDraft === true ? meant[at].promptId : null;
    return draft === null || named.has(draft) ? source : { ...source, promptId: source.promptId ?? draft };
  });
  return db.tx(async (tx) => {
    const made = await publishIn(tx, sources, { ...options, authorId: accountId, publishedBy: personId, note });
    const [only, ...others] = made;
    if (only !== undefined && others.length === 0) await deleteSameDraft(tx, accountId, { ...only, text });
    return describePublications(tx, parsed, made);
  }, BULK);
}

/** Deletes the draft if it has the same text, apart from the id: the file was also pushed or tested as a draft. */
async function deleteSameDraft(
  tx: Tx,
  accountId: string,
  { promptId, text }: { readonly promptId: string; readonly text: string },
): Promise<void> {
  const withoutId = (source: string) => source.replace(/^id[ \t]*:.*\n/m, "");
  const draft = await lockDraft(tx, accountId, promptId);
  if (draft !== null && withoutId(draft.source) === withoutId(text)) await deleteDraftRow(tx, accountId, promptId);
}

/**
 * Publishes the content of an older version as the next one. It is checked like any file, since a model that it needs
 * may be gone.
 * @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR when it can no longer be published.
 */
export async function rollBack(
  author: Author,
  { promptId, promptVersionId, note }: { promptId: string; promptVersionId: string; note: string | null },
  options: DraftOptions,
): Promise<PromptPublication> {
  await requireOwnPrompt(options.db, author.accountId, promptId);
  const version = await requireOwnVersion(options.db, promptId, promptVersionId);
  const sources = await readPublishable(author.accountId, fileOfPrompt(version), options);
  const source = findPromptOf(sources, null);
  if (source === null) throw new Error("The text of a version does not contain exactly one prompt.");
  return publishOne(author, { ...source, promptId }, { ...options, note }, async () => {});
}

/**
 * Reads the one prompt in a draft's text.
 * @throws Problem VALIDATION_ERROR with its faults, or when the text has several prompts or another prompt's id.
 */
export async function onlyPrompt(
  accountId: string,
  { promptId, text }: { readonly promptId: string; readonly text: string },
  options: ReadOptions,
): Promise<PromptSource> {
  const [source, ...others] = await readPublishable(accountId, text, options);
  const refused = (message: string) => invalid([{ path: ["body", "source"], code: "invalid_value", message }]);
  if (source === undefined || others.length > 0) {
    throw refused(
      `The draft contains ${others.length === 0 ? "no prompt" : "several prompts"}; it must contain exactly one.`,
    );
  }
  if (source.promptId !== null && source.promptId !== promptId) {
    throw refused(`The draft has the id ${source.promptId}, which belongs to another prompt. Remove the "id:" line.`);
  }
  return { ...source, promptId };
}

type ReadOptions = Pick<DraftOptions, "catalogue" | "holdMaxCredits"> & { readonly model?: string };

/** Reads a file whose prompts can be published. @throws Problem VALIDATION_ERROR with its faults. */
export async function readPublishable(
  accountId: string,
  text: string,
  { catalogue, ...limits }: ReadOptions,
): Promise<PromptSource[]> {
  try {
    return await readInOrder(accountId, () => parseInSlices(text, catalogue, limits));
  } catch (error) {
    if (!(error instanceof PromptFileError)) throw error;
    const faults = error.faults.slice(0, ISSUES_MAX);
    throw invalid(
      faults.map((fault) => ({ path: ["body", "source"], code: "invalid_value", message: faultText(fault) })),
    );
  }
}

/**
 * Finds or makes the version that a test run of the draft executes: the text of this revision. The first test run
 * freezes it, once for each model that the draft is tried with.
 * @param request its `model` replaces the draft's own model; null: it does not.
 * @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR for faults in the text or the model, and at another revision.
 */
export async function freezeDraft(
  author: Author,
  { promptId, revision, model }: { promptId: string; revision: number; model: string | null },
  options: DraftOptions,
): Promise<{ promptVersionId: string; source: PromptSource }> {
  const draft = await requireDraft(author, { promptId, revision }, options);
  if (model !== null) requireAvailable(model, options.catalogue);
  const written = { promptId, text: draft.source };
  const source = await onlyPrompt(author.accountId, written, model === null ? options : { ...options, model });
  const frozen = (tx: Queryable, { frozenVersionId }: Draft) =>
    model === null ? frozenVersionId : findFrozenWith(tx, { promptId, source: draft.source, model });
  const known = await frozen(options.db, draft);
  if (known !== null) return { promptVersionId: known, source };
  return options.db.tx(async (tx) => {
    const now = await lockDraft(tx, author.accountId, promptId);
    if (now?.revision !== revision) throw changedMeanwhile(now, revision);
    const made = await frozen(tx, now);
    if (made !== null) return { promptVersionId: made, source };
    const promptVersionId = await storeFrozen(tx, { ...source, promptId, isNew: false }, options);
    if (model === null) await setFrozenVersion(tx, promptId, promptVersionId);
    return { promptVersionId, source };
  });
}

/** Checked first: otherwise the faults would be reported for the draft, which does not name this model. */
function requireAvailable(model: string, catalogue: Catalogue): void {
  const found = availability(catalogue, model);
  if (found.kind === "available") return;
  const message = unavailableSentence(model, found);
  throw invalid([{ path: ["body", "model"], code: "invalid_value", message }]);
}
