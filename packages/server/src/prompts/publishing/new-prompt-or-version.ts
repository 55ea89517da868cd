/** Decides whether a source is a new prompt or a version of an existing one, and chooses slugs for new prompts. */
import type { Queryable, Tx } from "../../platform/database/database.ts";
import { isUuid } from "../../platform/ids.ts";
import { invalid, type Problem } from "../../platform/problem.ts";
import { joinSlug } from "../checks/prompt-slug.ts";
import type { PromptSource } from "../prompt-definition.ts";
import {
  listOwnIds,
  listOwnSlugs,
  listPrompts,
  listTakenSlugs,
  listTitles,
  type NewPrompt,
  type PromptRow,
} from "./publish-store.ts";

/** A source and the prompt that it becomes. */
export interface Target {
  readonly source: PromptSource;
  readonly promptId: string;
  readonly ownSlug: string;
  readonly isNew: boolean;
  /** True: it was created as a draft, and gets its slugs now. */
  readonly isUnnamed?: boolean;
  readonly replacedTitle: string | null;
}

/** The slug of a prompt that has only a draft. */
export function slugOfDraft(promptId: string): string {
  return `${DRAFT}${promptId}`;
}

const DRAFT = "draft-";
/** No prompt is published with such a slug: whether it is taken would reveal whether that draft exists. */
const isSlugOfDraft = (slug: string): boolean => slug.startsWith(DRAFT) && isUuid(slug.slice(DRAFT.length));

/**
 * Removes ids of prompts that are not the author's, since files move between installations and authors. Another
 * author's id is treated like an unknown one, so that it does not reveal that author's prompts or drafts.
 */
export async function withOwnIds<Source extends Pick<PromptSource, "promptId">>(
  db: Queryable,
  sources: readonly Source[],
  authorId: string,
): Promise<Source[]> {
  const named = sources.flatMap(({ promptId }) => promptId ?? []);
  const own = named.length === 0 ? new Set<string>() : await listOwnIds(db, authorId, named);
  return sources.map((source) =>
    source.promptId === null || own.has(source.promptId) ? source : { ...source, promptId: null },
  );
}

/**
 * Warns the author that the id in a file is ignored; otherwise null.
 * @param promptId the prompt that the file is a version of; null: a new one.
 */
export function describeUnknownId(named: string | null, promptId: string | null): string | null {
  if (named === null || named === promptId) return null;
  const fix = promptId === null ? "Put the id of your prompt" : `The file is the prompt ${promptId}. Put that id`;
  return `This author has no prompt with the id ${named}, so that id is ignored. ${fix} in the file, or remove the "id:" line.`;
}

/** Decides for every source whether it is a new prompt or a version of one. */
export async function findTargets(
  tx: Tx,
  sources: readonly PromptSource[],
  options: { readonly authorId: string; readonly newId: () => string },
): Promise<Target[]> {
  const ownSlugs = await listOwnSlugs(tx, options.authorId);
  const read = await withOwnIds(tx, sources, options.authorId);
  const named = await listPrompts(
    tx,
    read.flatMap((source) => source.promptId ?? []),
  );
  const apart = keepApart(read, ownSlugs);
  const replacedTitle = await findReplacedTitles(tx, apart, ownSlugs);
  return apart.map((source) => {
    const known = source.promptId === null ? undefined : named.get(source.promptId);
    if (known !== undefined) return targetOfKnown(source, known, ownSlugs);
    const holder = ownSlugs.get(source.slug);
    if (holder !== undefined)
      return { source, promptId: holder, ownSlug: source.slug, isNew: false, replacedTitle: replacedTitle(source) };
    const promptId = options.newId();
    const ownSlug = freeSlug(source.slug, ownSlugs);
    ownSlugs.set(ownSlug, promptId);
    return { source, promptId, ownSlug, isNew: true, replacedTitle: null };
  });
}

/**
 * Gives the sources of one batch distinct slugs, since a prompt gets one version at a time. Slugs made from equal
 * titles get numbers, the same ones each time.
 * @param sources with ids of the author's prompts only.
 * @throws Problem VALIDATION_ERROR when two sources have the same id, or name the same slug.
 */
function keepApart(sources: readonly PromptSource[], ownSlugs: ReadonlyMap<string, string>): PromptSource[] {
  const meant = new Map<string, PromptSource>();
  const keyOf = ({ promptId }: PromptSource, slug: string) => promptId ?? ownSlugs.get(slug) ?? `slug ${slug}`;
  const claim = (source: PromptSource, slug: string): PromptSource => {
    const key = keyOf(source, slug);
    const other = meant.get(key);
    if (other !== undefined) throw meantTwice(source, other);
    meant.set(key, source);
    return { ...source, slug };
  };
  const isDecided = ({ promptId, slugGiven }: PromptSource) => slugGiven || promptId !== null;
  const decided = new Map(sources.filter(isDecided).map((source) => [source, claim(source, source.slug)]));
  return sources.map((source) => {
    const own = decided.get(source);
    if (own !== undefined) return own;
    let { slug } = source;
    for (let number = 2; meant.has(keyOf(source, slug)); number += 1) slug = joinSlug(source.slug, number);
    return claim(source, slug);
  });
}

function meantTwice({ title, slug }: PromptSource, other: PromptSource): Problem {
  const message = `"${other.title}" and "${title}" refer to the same prompt, by their id or by the slug ${slug}, and a prompt can get only one version at a time. Give one of them another slug, or remove its id.`;
  return invalid([{ path: ["body", "source"], code: "conflict", message }]);
}

function targetOfKnown(source: PromptSource, { id: promptId, slug }: PromptRow, ownSlugs: Map<string, string>): Target {
  const known = { source, promptId, isNew: false, replacedTitle: null };
  if (slug !== slugOfDraft(promptId)) return { ...known, ownSlug: source.slug };
  if (source.slugGiven && ownSlugs.has(source.slug)) {
    const message = `You already have another prompt with the slug ${source.slug}. Give this one a different slug, or edit that prompt.`;
    throw invalid([{ path: ["body", "source"], code: "conflict", message }]);
  }
  const ownSlug = freeSlug(source.slug, ownSlugs);
  ownSlugs.set(ownSlug, promptId);
  return { ...known, ownSlug, isUnnamed: true };
}

/**
 * @returns a function from a source to the different title of the prompt that only the slug of its own title matches,
 * or null.
 */
async function findReplacedTitles(
  tx: Tx,
  sources: readonly PromptSource[],
  ownSlugs: ReadonlyMap<string, string>,
): Promise<(source: PromptSource) => string | null> {
  const met = new Map(
    sources.flatMap((source) => {
      const holder = source.slugGiven ? undefined : ownSlugs.get(source.slug);
      return holder === undefined ? [] : [[source, holder] as const];
    }),
  );
  const titles = met.size === 0 ? new Map<string, string>() : await listTitles(tx, [...met.values()]);
  return (source) => {
    const title = titles.get(met.get(source) ?? "") ?? source.title;
    return title === source.title ? null : title;
  };
}

function freeSlug(slug: string, taken: { has(slug: string): boolean }): string {
  let free = slug;
  for (let number = 2; taken.has(free); number += 1) free = joinSlug(slug, number);
  return free;
}

/** Gives new prompts slugs that no author has yet. */
export async function namePrompts(tx: Tx, created: readonly Target[]): Promise<NewPrompt[]> {
  const taken = await listTakenSlugs(
    tx,
    created.map((target) => target.ownSlug),
  );
  const prompts: NewPrompt[] = [];
  for (const { promptId, ownSlug } of created) {
    let slug = ownSlug;
    for (let number = 2; taken.has(slug) || isSlugOfDraft(slug); number += 1) {
      slug = joinSlug(ownSlug, number);
      if ((await listTakenSlugs(tx, [slug])).size > 0) taken.add(slug);
    }
    taken.add(slug);
    prompts.push({ id: promptId, ownSlug, slug });
  }
  return prompts;
}
