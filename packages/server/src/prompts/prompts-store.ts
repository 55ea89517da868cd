/** SQL for published prompts. Single-row reads are prepared statements. */
import type { Modality, PromptSamples } from "@promptd/contract";
import type { ModelEnding, ModelRetiringData } from "@promptd/contract/manage";
import type { Database, Queryable } from "../platform/database/database.ts";
import type { IndexedVersion, Popularity } from "../search/index.ts";
import type { LiveVersion, PriceEstimates } from "./prompt-definition.ts";
import { TAKEN, type TakenSample } from "./own/samples-store.ts";
import type { StepModel } from "./inputs/run-options.ts";

export const MODALITY_NUMBERS: Readonly<Record<Modality, number>> = { text: 0, image: 1, video: 2 };
/** A column for queries of versions `v`; null if there is no version. */
export const MODALITY_NAME = "(array['text', 'image', 'video'])[v.modality + 1]";

/** The config is as it was published; what the model offers now may differ. */
export interface PublicVersion
  extends Pick<LiveVersion, "promptId" | "promptVersionId" | "authorId" | "title" | "config">, PriceEstimates {
  readonly publishedAt: Date;
  /** In order. Not shown to callers. */
  readonly steps: readonly StepModel[];
}

const PUBLIC_COLUMNS = `v.prompt_id as "promptId", v.id as "promptVersionId", p.author_id as "authorId", v.title,
    v.published_at as "publishedAt", v.config, v.estimated_credits as "estimatedCredits",
    coalesce(v.credits_required, v.estimated_credits) as "creditsRequired", (
    select json_agg(json_strip_nulls(json_build_object('model', step -> 'model', 'options', step -> 'options',
      'webSearch', step -> 'webSearch', 'fallback', step -> 'fallback')) order by position)
    from json_array_elements(v.definition -> 'steps') with ordinality listed (step, position)) as steps`;
/** A condition on prompts `p` and versions `v`: runs of the version can be created now. */
export const IS_LIVE = "v.published_at is not null and p.unpublished_at is null";

/** Finds the latest published version of a prompt, or the given one if it is published and belongs to this prompt. */
export async function findPromptVersion(
  db: Database,
  promptId: string,
  versionId: string | null,
): Promise<PublicVersion | null> {
  const text = `select ${PUBLIC_COLUMNS} from prompts p
    join prompt_versions v on v.prompt_id = p.id and v.id = coalesce($2::uuid, p.latest_version_id)
    where p.id = $1 and ${IS_LIVE}`;
  return (await db.pipelined<PublicVersion>({ name: "prompts_find", text }, [promptId, versionId]))[0] ?? null;
}

export async function findPublicVersion(db: Database, versionId: string): Promise<PublicVersion | null> {
  const text = `select ${PUBLIC_COLUMNS} from prompt_versions v join prompts p on p.id = v.prompt_id
    where v.id = $1 and ${IS_LIVE}`;
  return (await db.pipelined<PublicVersion>({ name: "prompts_find_version", text }, [versionId]))[0] ?? null;
}

/** Says what an id is, for a caller who used it in the wrong place. Ids of prompts and versions are public. */
export async function describePublicId(db: Database, id: string): Promise<string | null> {
  const [latest, version] = await Promise.all([findPromptVersion(db, id, null), findPublicVersion(db, id)]);
  if (latest !== null) return `It is the id of a prompt whose latest version is ${latest.promptVersionId}.`;
  return version === null ? null : `It is the id of a version of the prompt ${version.promptId}.`;
}

/** A version found by a prompt's name, with what a list shows of it. */
export interface NamedVersion extends PublicVersion {
  readonly slug: string;
  readonly description: string;
}

/** The version `v` of a prompt `p` that a label refers to; null: the latest. */
const labeledVersion = (label: string): string => `prompt_versions v on v.prompt_id = p.id and v.id = case
    when ${label} is null then p.latest_version_id
    else (select l.prompt_version_id from prompt_labels l where l.prompt_id = p.id and l.label = ${label}) end`;

/**
 * Finds the versions that names refer to, by the name's index in the list. A name that matches nothing has no entry.
 * @param names without a label (null): the latest version.
 */
export async function findNamedVersions(
  db: Database,
  names: readonly { readonly slug: string; readonly label: string | null }[],
): Promise<ReadonlyMap<number, NamedVersion>> {
  const text = `select (requested.number - 1)::int as index, ${PUBLIC_COLUMNS}, p.slug, v.description
    from unnest($1::text[], $2::text[]) with ordinality requested (slug, label, number)
    join prompts p on p.slug = requested.slug join ${labeledVersion("requested.label")}
    where ${IS_LIVE}`;
  const rows = await db.pipelined<NamedVersion & { readonly index: number }>({ name: "prompts_find_names", text }, [
    names.map(({ slug }) => slug),
    names.map(({ label }) => label),
  ]);
  return new Map(rows.map(({ index, ...version }) => [index, version]));
}

/** Lists the account's own published prompts that have the label, by slug. @param label null: all of them. */
export function findLabeledVersions(
  db: Database,
  authorId: string,
  { label, limit }: { readonly label: string | null; readonly limit: number },
): Promise<NamedVersion[]> {
  const text = `select ${PUBLIC_COLUMNS}, p.slug, v.description from prompts p join ${labeledVersion("$2::text")}
    where p.author_id = $1 and ${IS_LIVE} order by p.slug limit $3`;
  return db.pipelined<NamedVersion>({ name: "prompts_find_labeled", text }, [authorId, label, limit]);
}

/** What may change while a version stays the same. */
export interface LiveTerms {
  /** As a percentage of a run's price; null: the installation's default. */
  readonly authorShare: number | null;
}

/**
 * @returns the terms of each version, or null if no run of it can be created now: the version and its prompt must be
 * published.
 */
export async function findLiveTerms(db: Database, versionIds: readonly string[]): Promise<(LiveTerms | null)[]> {
  const text = `select v.id, p.author_share as "authorShare" from prompt_versions v join prompts p on p.id = v.prompt_id
    where v.id = any($1) and ${IS_LIVE}`;
  const rows = await db.pipelined<LiveTerms & { id: string }>({ name: "prompts_live_terms", text }, [
    [...new Set(versionIds)],
  ]);
  const byId = new Map(rows.map(({ id, authorShare }) => [id, { authorShare }]));
  return versionIds.map((id) => byId.get(id) ?? null);
}

/**
 * @param percent null: the installation's default.
 * @returns the prompt's slug, or null when there is no such prompt.
 */
export async function setAuthorShare(db: Queryable, promptId: string, percent: number | null): Promise<string | null> {
  const text = "update prompts set author_share = $2 where id = $1 returning slug";
  return (await db.query<{ slug: string }>(text, [promptId, percent]))[0]?.slug ?? null;
}

/** Loads everything a run needs from a version, whether or not its prompt is published now. */
export async function loadVersion(db: Database, versionId: string): Promise<LiveVersion | null> {
  const text = `select v.prompt_id as "promptId", v.id as "promptVersionId", p.author_id as "authorId", v.title, v.model,
      ${MODALITY_NAME} as modality, v.config, v.definition
    from prompt_versions v join prompts p on p.id = v.prompt_id where v.id = $1`;
  return (await db.pipelined<LiveVersion>({ name: "prompts_load_version", text }, [versionId]))[0] ?? null;
}

export interface FoundPrompt extends NamedVersion, Popularity {
  readonly model: string;
  readonly modality: number;
  /** The samples in its file. */
  readonly samples: PromptSamples;
  /** The sample that its author chose instead. */
  readonly taken: TakenSample | null;
}

/**
 * Loads search results with everything that is shown, in the given order. Leaves out prompts that are not published,
 * and videos unless wanted.
 */
export function findSearchRows(
  db: Database,
  promptIds: readonly string[],
  { withVideos }: { readonly withVideos: boolean },
): Promise<FoundPrompt[]> {
  const text = `select ${PUBLIC_COLUMNS}, v.description, p.slug, v.model, v.modality, p.uses, p.up_votes as "upVotes",
      v.samples, ${TAKEN}
    from unnest($1::uuid[]) with ordinality found (id, rank)
    join prompts p on p.id = found.id join prompt_versions v on v.id = p.latest_version_id
    where ${IS_LIVE}${withVideos ? "" : ` and v.modality <> ${MODALITY_NUMBERS.video}`} order by found.rank`;
  const name = withVideos ? "prompts_rows" : "prompts_search_rows";
  return db.pipelined<FoundPrompt>({ name, text }, [promptIds]);
}

/** A condition on prompts `p` and versions `v`: the latest version of a published prompt, except for videos. */
export const IS_SEARCHED = `${IS_LIVE} and v.id = p.latest_version_id and v.modality <> ${MODALITY_NUMBERS.video}`;

/** Lists the searched version of each prompt, in order of prompt id. */
export function listSearchedVersions(db: Queryable, afterPromptId: string, limit: number): Promise<IndexedVersion[]> {
  return db.query<IndexedVersion>(
    `select p.id as "promptId", v.id as "promptVersionId" from prompts p join prompt_versions v on v.prompt_id = p.id
     where p.id > $1 and ${IS_SEARCHED} order by p.id limit $2`,
    [afterPromptId, limit],
  );
}

/**
 * Adds runs, counted by version, to the uses of their prompts. Ignores unknown versions and test runs. Locks rows in id
 * order.
 */
export async function addUses(tx: Queryable, counts: ReadonlyMap<string, number>): Promise<void> {
  const text = `with counted as (
      select v.prompt_id, sum(c.n)::bigint as n from unnest($1::uuid[], $2::bigint[]) c (version_id, n)
      join prompt_versions v on v.id = c.version_id and v.published_at is not null group by v.prompt_id
    ), locked as materialized (
      select p.id, counted.n from prompts p join counted on counted.prompt_id = p.id order by p.id for update of p
    )
    update prompts p set uses = p.uses + locked.n from locked where p.id = locked.id`;
  if (counts.size > 0) await tx.query(text, [[...counts.keys()], [...counts.values()]]);
}

/** `isLatest` false: only callers that name this version are affected. */
export interface PromptOfModel extends Omit<ModelEnding, "model" | "retiresAt" | "successor"> {
  readonly promptId: string;
  readonly slug: string;
  readonly title: string;
  /** The requested models that the version uses, in any step. */
  readonly models: readonly string[];
}

/**
 * Published versions of live prompts that call one of these models. Reads every version, so it is for operator commands
 * only.
 */
export function listPromptsOfModels(db: Queryable, models: readonly string[]): Promise<PromptOfModel[]> {
  return db.query<PromptOfModel>(
    `select p.id as "promptId", p.slug, v.title, v.id as "promptVersionId", v.number as version,
       v.id = p.latest_version_id as "isLatest", used.models
     from prompts p join prompt_versions v on v.prompt_id = p.id
     cross join lateral (
       select array_agg(distinct step ->> 'model' order by step ->> 'model') as models
       from json_array_elements(v.definition -> 'steps') step where step ->> 'model' = any ($1)) used
     where ${IS_LIVE} and used.models is not null order by p.slug, v.number desc`,
    [models],
  );
}

/** A model that the latest version of a live prompt calls. */
export interface LiveCall extends Omit<ModelRetiringData, "retiresAt" | "successor"> {
  readonly authorId: string;
}

/**
 * Lists which of these models the live prompts of these authors call by name. Roles are left out: they get another
 * model automatically.
 */
export async function listLiveCallsOf(
  db: Queryable,
  authorIds: readonly string[],
  models: readonly string[],
): Promise<LiveCall[]> {
  if (authorIds.length === 0) return [];
  return db.query<LiveCall>(
    `select distinct p.author_id as "authorId", p.id as "promptId", v.id as "promptVersionId", p.slug, v.title,
       step ->> 'model' as model
     from prompts p join prompt_versions v on v.id = p.latest_version_id
     cross join lateral json_array_elements(v.definition -> 'steps') step
     where p.author_id = any ($1::uuid[]) and ${IS_LIVE} and step ->> 'model' = any ($2) and step -> 'role' is null
     order by "promptVersionId", model`,
    [authorIds, models],
  );
}

/** Search ranks prompts that match equally well by popularity. */
export async function listPopularity(db: Queryable, promptIds: readonly string[]): Promise<Map<string, Popularity>> {
  const rows = await db.query<{ id: string; uses: number; up_votes: number }>(
    "select id, uses, up_votes from prompts where id = any ($1::uuid[])",
    [promptIds],
  );
  return new Map(rows.map(({ id, uses, up_votes: upVotes }) => [id, { uses, upVotes }]));
}
