import { getAccountByName, getAccountEvenDeleted } from "../accounts/index.ts";
import type { Catalogue } from "../models/index.ts";
import { isUuid } from "../platform/ids.ts";
import { orNotFound, Problem } from "../platform/problem.ts";
import { findPromptOf } from "../prompts/checks/parse-prompt-file.ts";
import { describePublication } from "../prompts/authoring/describe-publication.ts";
import { diffPrompts, type PromptDiff } from "../prompts/authoring/diff-prompts.ts";
import { addSample, fileOfPrompt } from "../prompts/format/write-prompt-file.ts";
import { findLatestContent, listLatestPrompts } from "../prompts/publishing/publish-store.ts";
import {
  parsePromptFile,
  PromptFileError,
  publishPrompts,
  republishPrompt,
  setAuthorShare,
  unpublishPrompt,
  type PromptFile,
  type PromptSource,
  type Publication,
  type PublishedPrompt,
} from "../prompts/index.ts";
import { readCatalogue, type CommandContext } from "../read-catalogue.ts";
import { vacuumIndex } from "../search/index.ts";

/** With this many prompts or more, the index would be slower to read until its next vacuum. */
const VACUUM_FROM_PROMPTS = 200;

export interface PublishReport {
  readonly published: (PublishedPrompt & { readonly file: string })[];
  readonly warnings: { readonly file: string; readonly title: string; readonly text: string }[];
  /** One text per file that was not published. Its first line names the file. */
  readonly faults: string[];
}

interface ParsedFile {
  readonly name: string;
  readonly sources: readonly PromptSource[];
}

/** Operator actions on prompts. Authors are named by email address or id. */
export function promptActions(context: CommandContext) {
  const { db } = context;
  const accountOf = async (author: string | null): Promise<string | null> =>
    author === null ? null : (await getAccountEvenDeleted(db, author)).accountId;
  return {
    publish: (files: readonly PromptFile[], author: string) => publishFiles(context, files, author),
    addSample: (file: PromptFile, runId: string, author: string) => sampleOfRun(context, { file, runId, author }),
    async unpublish(promptId: string): Promise<{ promptId: string; published: false }> {
      if (!isUuid(promptId)) throw noPromptId(promptId);
      await unpublishPrompt(db, promptId);
      return { promptId: promptId.toLowerCase(), published: false };
    },
    async republish(promptId: string): Promise<{ promptId: string; published: true }> {
      if (!isUuid(promptId)) throw noPromptId(promptId);
      await republishPrompt(db, promptId);
      return { promptId: promptId.toLowerCase(), published: true };
    },
    /** In percent; null: the installation's share. */
    async setAuthorShare(
      promptId: string,
      percent: number | null,
    ): Promise<{ promptId: string; slug: string; authorSharePercent: number | null }> {
      if (!isUuid(promptId)) throw noPromptId(promptId);
      const slug = await setAuthorShare(db, promptId, percent);
      if (slug === null) throw new Problem("NOT_FOUND_ERROR", `No prompt has the id "${promptId}".`);
      return { promptId: promptId.toLowerCase(), slug, authorSharePercent: percent };
    },
    /** @param author null: all authors. */
    list: async (author: string | null) => listLatestPrompts(db, await accountOf(author)),
    /** The file of a prompt's latest version. Publishing it again changes nothing. @param name the prompt's id or slug. */
    async pull(name: string, author: string | null): Promise<{ promptId: string; slug: string; source: string }> {
      const found = orNotFound(await findLatestContent(db, name, await accountOf(author)), "prompt", name);
      return { promptId: found.promptId, slug: found.slug, source: fileOfPrompt(found) };
    },
    /** The changes that publishing a file's only prompt would make. Null: it would be a new prompt. */
    async diff(file: PromptFile, author: string | null): Promise<PromptDiff | null> {
      const catalogue = await readCatalogue(context);
      const holdMaxCredits = context.config.PROMPTD_HOLD_MAX_CREDITS;
      const source = findPromptOf(parsePromptFile(file.text, catalogue, { holdMaxCredits }), null);
      if (source === null)
        throw new Problem("VALIDATION_ERROR", `${file.name} must contain exactly one prompt to be compared.`);
      const accountId = await accountOf(author);
      const { promptId, slug } = source;
      const byId = promptId === null ? null : await findLatestContent(db, promptId, null);
      const found = byId ?? (await findLatestContent(db, slug, accountId));
      return found === null ? null : diffPrompts(found, source, catalogue);
    },
  };
}

/** Publishes files in order, each completely or not at all. A file with a fault is skipped; the others are published. */
async function publishFiles(
  context: CommandContext,
  files: readonly PromptFile[],
  author: string,
): Promise<PublishReport> {
  const { accountId: authorId } = await getAccountByName(context.db, author);
  const catalogue = await readCatalogue(context);
  const report: PublishReport = { published: [], warnings: [], faults: [] };
  const holdMaxCredits = context.config.PROMPTD_HOLD_MAX_CREDITS;
  const parsed = files.flatMap(({ name, text }): ParsedFile[] => {
    try {
      return [{ name, sources: parsePromptFile(text, catalogue, { holdMaxCredits }) }];
    } catch (error) {
      report.faults.push(faultOf(name, error));
      return [];
    }
  });
  for (const group of groupFiles(parsed)) await publishGroup(context, group, { authorId, catalogue, report });
  const isNew = ({ outcome }: PublishedPrompt): boolean => outcome !== "unchanged";
  if (report.published.filter(isNew).length >= VACUUM_FROM_PROMPTS) await vacuumIndex(context.db);
  return report;
}

/** Publishes many files in one transaction, which is faster, or one by one if any prompt in them is rejected. */
async function publishGroup(
  context: CommandContext,
  group: readonly ParsedFile[],
  to: { readonly authorId: string; readonly catalogue: Catalogue; readonly report: PublishReport },
): Promise<void> {
  const { report, ...target } = to;
  const sources = group.flatMap((file) => file.sources);
  try {
    const publications = await publishPrompts(context.db, sources, { ...target, newId: context.newId });
    addPublications(report, group, publications);
  } catch (error) {
    const [file] = group;
    if (group.length > 1 && error instanceof Problem) for (const each of group) await publishGroup(context, [each], to);
    else if (file !== undefined) report.faults.push(faultOf(file.name, error));
  }
}

/**
 * Returns the file with the inputs and texts of one of the author's own runs as its sample. Generated images and
 * videos are left out, because their URLs expire.
 * @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR when the run did not succeed, or the file has samples.
 */
async function sampleOfRun(
  { db }: CommandContext,
  { file, runId, author }: { readonly file: PromptFile; readonly runId: string; readonly author: string },
): Promise<PromptFile> {
  if (!isUuid(runId)) throw new Problem("VALIDATION_ERROR", `--sample-from must be a UUID, got "${runId}".`);
  const { accountId } = await getAccountByName(db, author);
  const { findRun, readInputs } = await import("../runs/runs-store.ts");
  const run = orNotFound(await findRun(db, accountId, runId.toLowerCase()), "run of this author", runId);
  if (run.runStatus !== "succeeded")
    throw new Problem("VALIDATION_ERROR", `The run ${runId} is ${run.runStatus}. A sample needs a run that succeeded.`);
  const inputs = await readInputs(db, [{ accountId, runId: run.runId }]);
  const { textInputs } = inputs.get(run.runId) as { textInputs: Readonly<Record<string, string>> };
  const outputs = run.outputs.flatMap(({ type, data }) => (type === "text" ? [data] : []));
  const text = addSample(file.text, { textInputs, outputs });
  if (text !== null) return { ...file, text };
  const why = "already has samples or is not a *.prompt.md file. Remove its samples, or add this one by hand.";
  throw new Problem("VALIDATION_ERROR", `${file.name} ${why}`);
}

/** Files that can be published together: no two may be the same prompt, which gets one version at a time. */
function groupFiles(files: readonly ParsedFile[]): ParsedFile[][] {
  const groups: ParsedFile[][] = [];
  let names = new Set<string>();
  for (const file of files) {
    const own = file.sources.flatMap(({ slug, promptId }) => [slug, ...(promptId === null ? [] : [promptId])]);
    const group = groups.at(-1);
    if (group !== undefined && !own.some((name) => names.has(name))) group.push(file);
    else {
      groups.push([file]);
      names = new Set();
    }
    for (const name of own) names.add(name);
  }
  return groups;
}

/** @param publications one per source, in order. */
function addPublications(
  report: PublishReport,
  files: readonly ParsedFile[],
  publications: readonly Publication[],
): void {
  const pairs = files.flatMap(({ name, sources }) => sources.map((source) => ({ name, source })));
  for (const [at, { name, source }] of pairs.entries()) {
    const publication = publications[at];
    if (publication === undefined) continue;
    const { promptId, promptVersionId, slug, title, outcome } = publication;
    const twin = report.published.find((other) => other.promptId === promptId && other.file !== name);
    const isIntended = source.slugGiven || source.promptId !== null || publication.replacedTitle !== null;
    const texts = describePublication(source, publication);
    if (twin !== undefined && !isIntended && outcome !== "unchanged") texts.push(describeTwin(publication, twin.file));
    report.published.push({ promptId, promptVersionId, slug, title, outcome, file: name });
    report.warnings.push(...texts.map((text) => ({ file: name, title: source.title, text })));
  }
}

function faultOf(name: string, error: unknown): string {
  if (!(error instanceof PromptFileError || error instanceof Problem)) throw error;
  return `${name} was not published:\n${error.message.replace(/^/gm, "  ")}`;
}

/** Two files of the same command have the same title. */
function describeTwin({ slug, promptId }: Publication, file: string): string {
  return `It became a new version of the prompt ${slug} (${promptId}), which ${file} has just published under the same title. If they are two different prompts, add a "slug:" to this file and publish both again.`;
}

/** Most often, the given text is a slug. */
export function noPromptId(given: string): Problem {
  const message = `promptId must be a UUID, got "${given}". To find the id of a slug, use "promptd admin prompt show".`;
  return new Problem("VALIDATION_ERROR", message);
}
