/** What authors see of their prompts, in the form of the management API. */
import type {
  ListPromptsQuery,
  ModelEnding,
  OwnPrompt,
  OwnPromptDiff,
  OwnPromptRow,
  OwnVersion,
  OwnVersionRow,
  Page,
  PageQuery,
  RecentUseOfPrompt,
} from "@promptd/contract/manage";
import type { Catalogue } from "../../models/index.ts";
import { invalid, notFound, orNotFound } from "../../platform/problem.ts";
import { findBreakingChanges } from "../authoring/breaking-changes.ts";
import { diffInSlices } from "../authoring/diff-prompts.ts";
import type { PromptContent } from "../prompt-definition.ts";
import { currentWebSearch } from "../inputs/run-options.ts";
import { fileOfPrompt } from "../format/write-prompt-file.ts";
import { readInOrder } from "./read-in-order.ts";
import { onlyPrompt, type DraftOptions } from "./drafts.ts";
import { findSample, type ReleaseSample, type SampleUrl } from "./samples-store.ts";
import { findDraft } from "./drafts-store.ts";
import {
  findOwnPrompt,
  findOwnVersion,
  listOwnPrompts,
  listOwnVersions,
  listVersionsOfModels,
  requireOwnPrompt,
  requireOwnVersion,
  type OwnPromptRecord,
  type OwnVersionRecord,
} from "./own-prompts-store.ts";

export interface OwnPromptsOptions extends DraftOptions {
  /** Recent use, which another slice counts. Prompts and versions that were not used are missing. */
  usageOfPrompts(promptIds: readonly string[]): Promise<ReadonlyMap<string, RecentUseOfPrompt>>;
  usageOfVersions(promptId: string): Promise<ReadonlyMap<string, RecentUseOfPrompt>>;
  readonly sampleUrl: SampleUrl;
  readonly releaseSample: ReleaseSample;
  /** True: authors pay for runs of their own prompts and drafts too. */
  readonly chargesAuthors: boolean;
}

const UNUSED: RecentUseOfPrompt = { runs: 0, succeeded: 0, failed: 0, credits: 0 };
const ENDINGS_MAX = 20;

/** @throws Problem VALIDATION_ERROR for a cursor that is not in the list. */
export async function readOwnPrompts(
  accountId: string,
  query: ListPromptsQuery,
  options: OwnPromptsOptions,
): Promise<Page<OwnPromptRow>> {
  const page = await listOwnPrompts(options.db, accountId, query);
  return { rows: await describePrompts(page.rows, options), hasMore: page.hasMore };
}

/** @throws Problem NOT_FOUND_ERROR */
export async function readOwnPrompt(
  accountId: string,
  promptId: string,
  options: OwnPromptsOptions,
): Promise<OwnPrompt> {
  const { db } = options;
  const record = orNotFound(await findOwnPrompt(db, accountId, promptId), "prompt", promptId);
  const [draft, rows, sample] = await Promise.all([
    findDraft(db, accountId, promptId),
    describePrompts([record], options),
    findSample(db, promptId, options.sampleUrl),
  ]);
  const version = draft === null ? await findOwnVersion(db, promptId, null) : null;
  const [row] = rows;
  if (row === undefined) throw notFound("prompt", promptId);
  const source = draft?.source ?? (version === null ? "" : fileOfPrompt(version));
  return { ...row, source, sample };
}

async function describePrompts<Record extends OwnPromptRecord>(
  records: readonly Record[],
  options: OwnPromptsOptions,
): Promise<(Record & OwnPromptRow)[]> {
  const promptIds = records.map(({ promptId }) => promptId);
  const [usage, endings] = await Promise.all([
    promptIds.length === 0 ? new Map<string, RecentUseOfPrompt>() : options.usageOfPrompts(promptIds),
    findEndings(promptIds, options),
  ]);
  return records.map((record) => ({
    ...record,
    last30Days: usage.get(record.promptId) ?? UNUSED,
    endingModels: (endings.get(record.promptId) ?? []).slice(0, ENDINGS_MAX),
  }));
}

/** Finds versions that use a model with a known end, by prompt, newest first. */
async function findEndings(
  promptIds: readonly string[],
  { db, catalogue }: Pick<OwnPromptsOptions, "db" | "catalogue">,
): Promise<Map<string, ModelEnding[]>> {
  const ends = endsOf(catalogue);
  const found = new Map<string, ModelEnding[]>();
  if (ends.size === 0 || promptIds.length === 0) return found;
  for (const { promptId, models, ...version } of await listVersionsOfModels(db, promptIds, [...ends.keys()])) {
    const endings = models.flatMap((model) => {
      const end = ends.get(model);
      return end === undefined ? [] : [{ ...version, model, ...end }];
    });
    found.set(promptId, [...(found.get(promptId) ?? []), ...endings]);
  }
  return found;
}

function endsOf({ entries }: Catalogue): Map<string, Pick<ModelEnding, "retiresAt" | "successor">> {
  return new Map(
    entries.flatMap(({ model, retiresAt, retiredAt, successor = null }) => {
      const end = retiresAt ?? retiredAt;
      return end === undefined ? [] : [[model, { retiresAt: end, successor }] as const];
    }),
  );
}

/** @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR for a cursor that is not in the list. */
export async function readOwnVersions(
  { accountId, promptId }: { readonly accountId: string; readonly promptId: string },
  query: PageQuery,
  options: OwnPromptsOptions,
): Promise<Page<OwnVersionRow>> {
  await requireOwnPrompt(options.db, accountId, promptId);
  const page = await listOwnVersions(options.db, promptId, query);
  return { rows: await describeVersions(promptId, page.rows, options), hasMore: page.hasMore };
}

/** @throws Problem NOT_FOUND_ERROR */
export async function readOwnVersion(
  ids: { readonly accountId: string; readonly promptId: string; readonly promptVersionId: string },
  options: OwnPromptsOptions,
): Promise<OwnVersion> {
  const { promptId, promptVersionId } = ids;
  await requireOwnPrompt(options.db, ids.accountId, promptId);
  const version = await requireOwnVersion(options.db, promptId, promptVersionId);
  const [row] = await describeVersions(promptId, [version], options);
  if (row === undefined) throw notFound("published version of this prompt", promptVersionId);
  const { config, definition, estimatedCredits, creditsRequired } = version;
  const now = { ...currentWebSearch(definition.steps, options.catalogue), estimatedCredits, creditsRequired };
  return { ...row, source: fileOfPrompt(version), config: { ...config, ...now } };
}

async function describeVersions(
  promptId: string,
  versions: readonly OwnVersionRecord[],
  options: OwnPromptsOptions,
): Promise<OwnVersionRow[]> {
  const [usage, endings] = await Promise.all([options.usageOfVersions(promptId), findEndings([promptId], options)]);
  const all = endings.get(promptId) ?? [];
  return versions.map((version) => ({
    promptVersionId: version.promptVersionId,
    version: version.version,
    title: version.title,
    model: version.model,
    publishedAt: version.publishedAt,
    publishedBy: version.publishedBy,
    note: version.note,
    isLatest: version.isLatest,
    labels: version.labels,
    estimatedCredits: version.estimatedCredits,
    last30Days: usage.get(version.promptVersionId) ?? UNUSED,
    endingModels: all.filter(({ promptVersionId }) => promptVersionId === version.promptVersionId),
  }));
}

/** Compares two versions, or a version and the draft, and lists the changes that would break callers. */
export async function diffOwnPrompt(
  { accountId, promptId }: { readonly accountId: string; readonly promptId: string },
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  options: OwnPromptsOptions,
): Promise<OwnPromptDiff> {
  await requireOwnPrompt(options.db, accountId, promptId);
  const before = await requireVersion(promptId, from ?? null, options);
  const after =
    to === undefined
      ? await requireDraftPrompt(accountId, promptId, options)
      : await requireVersion(promptId, to, options);
  const { catalogue } = options;
  const diff = await readInOrder(accountId, () => diffInSlices(before, after, catalogue));
  return { ...diff, conflicts: findBreakingChanges(before, after, catalogue) };
}

async function requireVersion(
  promptId: string,
  promptVersionId: string | null,
  { db }: OwnPromptsOptions,
): Promise<PromptContent> {
  if (promptVersionId !== null) return requireOwnVersion(db, promptId, promptVersionId);
  const latest = await findOwnVersion(db, promptId, null);
  if (latest !== null) return latest;
  const message = "This prompt has never been published, so there is nothing to compare with.";
  throw invalid([{ path: ["query", "from"], code: "required", message }]);
}

async function requireDraftPrompt(
  accountId: string,
  promptId: string,
  options: OwnPromptsOptions,
): Promise<PromptContent> {
  const draft = await findDraft(options.db, accountId, promptId);
  if (draft !== null) return onlyPrompt(accountId, { promptId, text: draft.source }, options);
  const message = 'This prompt has no draft. Set the query parameter "to" to the version to compare with.';
  throw invalid([{ path: ["query", "to"], code: "required", message }]);
}
