/** All SQL of prompts. Reads of one row run as prepared statements; publishing works in arrays, 500 rows at a time. */
import type { Modality, PromptConfig, PromptSamples } from "@promptd/contract";
import type { Database, Queryable, Tx } from "../platform/database/database.ts";
import type { LiveVersion, PromptDefinition } from "./prompt-definition.ts";
import type { StepModel } from "./inputs/run-options.ts";

const MODALITY_NUMBERS: Readonly<Record<Modality, number>> = { text: 0, image: 1, video: 2 };
const MODALITY_NAMES = ["text", "image", "video"] as const;

/** Taken first by everything that publishes or unpublishes: prompts, versions and index are then locked in one order. */
const PUBLISH_LOCK = 18_019;

export async function lockPublishing(tx: Tx): Promise<void> {
  await tx.query("set local lock_timeout = 0"); // a bulk import may hold it for a minute
  await tx.query("select pg_advisory_xact_lock($1)", [PUBLISH_LOCK]);
}

export interface PublicVersion {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly title: string;
  readonly publishedAt: Date;
  /** As it was published; what its model offers now may differ. */
  readonly config: PromptConfig;
  /** In order. Not for callers to see. */
  readonly steps: readonly StepModel[];
}

interface PublicVersionRow {
  prompt_id: string;
  id: string;
  title: string;
  published_at: Date;
  config: PromptConfig;
  steps: StepModel[];
}

const PUBLIC_COLUMNS = `v.prompt_id, v.id, v.title, v.published_at, v.config, (
    select json_agg(json_build_object('model', step -> 'model', 'options', step -> 'options') order by place)
    from json_array_elements(v.definition -> 'steps') with ordinality listed (step, place)) as steps`;
const IS_LIVE = "v.published_at is not null and p.unpublished_at is null";

/** The latest published version of a prompt, or the named one if it is published and of this prompt. */
export async function findPromptVersion(
  db: Database,
  promptId: string,
  versionId: string | null,
): Promise<PublicVersion | null> {
  const text = `select ${PUBLIC_COLUMNS} from prompts p
    join prompt_versions v on v.prompt_id = p.id and v.id = coalesce($2::uuid, p.latest_version_id)
    where p.id = $1 and ${IS_LIVE}`;
  const rows = await db.named<PublicVersionRow>("prompts_find", text, [promptId, versionId]);
  return rows[0] === undefined ? null : publicVersion(rows[0]);
}

export async function isPromptPublished(db: Database, promptId: string): Promise<boolean> {
  const text = "select 1 from prompts where id = $1 and unpublished_at is null and latest_version_id is not null";
  return (await db.named("prompts_is_published", text, [promptId])).length > 0;
}

export async function findPublicVersion(db: Database, versionId: string): Promise<PublicVersion | null> {
  const text = `select ${PUBLIC_COLUMNS} from prompt_versions v join prompts p on p.id = v.prompt_id
    where v.id = $1 and ${IS_LIVE}`;
  const rows = await db.named<PublicVersionRow>("prompts_find_version", text, [versionId]);
  return rows[0] === undefined ? null : publicVersion(rows[0]);
}

function publicVersion(row: PublicVersionRow): PublicVersion {
  const { prompt_id: promptId, id: promptVersionId, title, published_at: publishedAt, config, steps } = row;
  return { promptId, promptVersionId, title, publishedAt, config, steps };
}

/** True when runs of this version may be made now: it was published, and its prompt is. */
export async function isVersionLive(db: Database, versionId: string): Promise<boolean> {
  const text = `select 1 from prompt_versions v join prompts p on p.id = v.prompt_id where v.id = $1 and ${IS_LIVE}`;
  return (await db.named("prompts_is_live", text, [versionId])).length > 0;
}

interface VersionRow {
  prompt_id: string;
  id: string;
  author_id: string;
  title: string;
  model: string;
  modality: number;
  config: PromptConfig;
  definition: PromptDefinition;
}

/** Everything a run needs of a published version, whether its prompt is published now or not. */
export async function loadVersion(db: Database, versionId: string): Promise<LiveVersion | null> {
  const text = `select v.prompt_id, v.id, p.author_id, v.title, v.model, v.modality, v.config, v.definition
    from prompt_versions v join prompts p on p.id = v.prompt_id where v.id = $1 and v.published_at is not null`;
  const [row] = await db.named<VersionRow>("prompts_load_version", text, [versionId]);
  if (row === undefined) return null;
  return {
    promptId: row.prompt_id,
    promptVersionId: row.id,
    authorId: row.author_id,
    title: row.title,
    model: row.model,
    modality: modalityName(row.modality),
    config: row.config,
    definition: row.definition,
  };
}

function modalityName(number: number): Modality {
  const name = MODALITY_NAMES[number];
  if (name === undefined) throw new RangeError(`There is no modality ${number}.`);
  return name;
}

export interface FoundPrompt extends PublicVersion {
  readonly description: string;
  readonly slug: string;
  readonly model: string;
  readonly modality: number;
  readonly estimatedCredits: number;
  readonly uses: number;
  readonly upVotes: number;
  readonly samples: PromptSamples;
}

interface FoundRow extends PublicVersionRow {
  description: string;
  slug: string;
  model: string;
  modality: number;
  estimated_credits: number;
  uses: number;
  up_votes: number;
  samples: PromptSamples;
}

/** Search results with everything that is shown, in the order given; what is not published or makes video falls out. */
export async function findSearchRows(db: Database, promptIds: readonly string[]): Promise<FoundPrompt[]> {
  const text = `select ${PUBLIC_COLUMNS}, v.description, p.slug, v.model, v.modality, v.estimated_credits, p.uses,
      p.up_votes, v.samples
    from unnest($1::uuid[]) with ordinality found (id, rank)
    join prompts p on p.id = found.id join prompt_versions v on v.id = p.latest_version_id
    where ${IS_LIVE} and v.modality <> ${MODALITY_NUMBERS.video} order by found.rank`;
  const rows = await db.named<FoundRow>("prompts_search_rows", text, [promptIds]);
  return rows.map((row) => ({
    ...publicVersion(row),
    description: row.description,
    slug: row.slug,
    model: row.model,
    modality: row.modality,
    estimatedCredits: row.estimated_credits,
    uses: row.uses,
    upVotes: row.up_votes,
    samples: row.samples,
  }));
}

/** The author's prompts by their own slug. */
export async function listOwnSlugs(tx: Tx, authorId: string): Promise<Map<string, string>> {
  const text = "select own_slug, id from prompts where author_id = $1";
  const rows = await tx.query<{ own_slug: string; id: string }>(text, [authorId]);
  return new Map(rows.map((row) => [row.own_slug, row.id]));
}

/** What these prompts are called now; a prompt of which there are only drafts, by the newest. */
export async function listTitles(tx: Tx, promptIds: readonly string[]): Promise<Map<string, string>> {
  const text = `select distinct on (p.id) p.id, v.title from prompts p join prompt_versions v on v.prompt_id = p.id
    where p.id = any($1::uuid[]) order by p.id, (v.id = p.latest_version_id) desc nulls last, v.number desc`;
  const rows = await tx.query<{ id: string; title: string }>(text, [promptIds]);
  return new Map(rows.map((row) => [row.id, row.title]));
}

export async function listAuthors(tx: Tx, promptIds: readonly string[]): Promise<Map<string, string>> {
  const text = "select id, author_id from prompts where id = any($1::uuid[])";
  const rows = await tx.query<{ id: string; author_id: string }>(text, [promptIds]);
  return new Map(rows.map((row) => [row.id, row.author_id]));
}

export async function listUnpublished(tx: Tx, promptIds: readonly string[]): Promise<Set<string>> {
  const text = "select id from prompts where id = any($1::uuid[]) and unpublished_at is not null";
  const rows = await tx.query<{ id: string }>(text, [promptIds]);
  return new Set(rows.map((row) => row.id));
}

export async function listTakenSlugs(tx: Tx, slugs: readonly string[]): Promise<Set<string>> {
  const rows = await tx.query<{ slug: string }>("select slug from prompts where slug = any($1)", [slugs]);
  return new Set(rows.map((row) => row.slug));
}

export async function listSlugs(tx: Tx, promptIds: readonly string[]): Promise<Map<string, string>> {
  const text = "select id, slug from prompts where id = any($1::uuid[])";
  const rows = await tx.query<{ id: string; slug: string }>(text, [promptIds]);
  return new Map(rows.map((row) => [row.id, row.slug]));
}

export interface NewPrompt {
  readonly id: string;
  readonly ownSlug: string;
  readonly slug: string;
}

export async function insertPrompts(tx: Tx, authorId: string, prompts: readonly NewPrompt[]): Promise<void> {
  const text = `insert into prompts (id, author_id, own_slug, slug)
    select new.id, $1, new.own_slug, new.slug from unnest($2::uuid[], $3::text[], $4::text[]) new (id, own_slug, slug)`;
  const columns = [
    prompts.map((each) => each.id),
    prompts.map((each) => each.ownSlug),
    prompts.map((each) => each.slug),
  ];
  await tx.query(text, [authorId, ...columns]);
}

export interface NewVersion {
  readonly id: string;
  readonly promptId: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly model: string;
  readonly modality: Modality;
  readonly definition: PromptDefinition;
  readonly config: PromptConfig;
  readonly samples: PromptSamples;
  readonly estimatedCredits: number;
}

/** Numbers go on from the highest of the prompt; one version per prompt and call. `isDraft`: without published_at. */
export async function insertVersions(
  tx: Tx,
  versions: readonly NewVersion[],
  { estimateBasis, isDraft }: { readonly estimateBasis: string; readonly isDraft: boolean },
): Promise<void> {
  const text = `insert into prompt_versions (id, prompt_id, number, title, description, tags, model, modality, definition,
      config, samples, estimated_credits, estimate_basis, published_at)
    select new.id, new.prompt_id, 1 + coalesce((select max(v.number) from prompt_versions v where v.prompt_id = new.prompt_id), 0),
      new.title, new.description, new.tags::json, new.model, new.modality, new.definition::json, new.config::json,
      new.samples::json, new.estimated_credits, $12, case when $13 then null else promptd_now() end
    from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::smallint[], $8::text[],
      $9::text[], $10::text[], $11::int[])
      new (id, prompt_id, title, description, tags, model, modality, definition, config, samples, estimated_credits)`;
  const column = (value: (version: NewVersion) => unknown) => versions.map(value);
  await tx.query(text, [
    column((version) => version.id),
    column((version) => version.promptId),
    column((version) => version.title),
    column((version) => version.description),
    column((version) => JSON.stringify(version.tags)),
    column((version) => version.model),
    column((version) => MODALITY_NUMBERS[version.modality]),
    column((version) => JSON.stringify(version.definition)),
    column((version) => JSON.stringify(version.config)),
    column((version) => JSON.stringify(version.samples)),
    column((version) => version.estimatedCredits),
    estimateBasis,
    isDraft,
  ]);
}

/** Makes these the latest versions; a prompt that was unpublished is published again. */
export async function setLatestVersions(tx: Tx, versions: readonly { id: string; promptId: string }[]): Promise<void> {
  const text = `update prompts p set latest_version_id = new.id, unpublished_at = null
    from unnest($1::uuid[], $2::uuid[]) new (id, prompt_id) where p.id = new.prompt_id`;
  await tx.query(text, [versions.map((version) => version.id), versions.map((version) => version.promptId)]);
}

/** Publishes a draft of this author; returns its promptId, or null when there is no such draft. */
export async function publishDraftRow(tx: Tx, authorId: string, versionId: string): Promise<string | null> {
  const text = `update prompt_versions v set published_at = promptd_now() from prompts p
    where v.id = $2 and p.id = v.prompt_id and p.author_id = $1 and v.published_at is null returning v.id, v.prompt_id`;
  const rows = await tx.query<{ id: string; prompt_id: string }>(text, [authorId, versionId]);
  await setLatestVersions(
    tx,
    rows.map((row) => ({ id: row.id, promptId: row.prompt_id })),
  );
  return rows[0]?.prompt_id ?? null;
}

/** Sets or clears unpublished_at of a prompt that was published once; false when there is no such prompt. */
export async function setUnpublished(tx: Tx, promptId: string, isUnpublished: boolean): Promise<boolean> {
  const text = `update prompts set unpublished_at = case when $2 then coalesce(unpublished_at, promptd_now()) end
    where id = $1 and latest_version_id is not null returning id`;
  return (await tx.query(text, [promptId, isUnpublished])).length > 0;
}

export interface SearchedVersion {
  readonly promptId: string;
  readonly promptVersionId: string;
}

export interface SearchedText extends SearchedVersion {
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly definition: PromptDefinition;
}

interface SearchedTextRow {
  prompt_id: string;
  id: string;
  title: string;
  description: string;
  tags: string[];
  definition: PromptDefinition;
}

/** Of prompts p and versions v: what is searched is the latest version of what is published, and no video. */
const IS_SEARCHED = `${IS_LIVE} and v.id = p.latest_version_id and v.modality <> ${MODALITY_NUMBERS.video}`;

/** What the search index gets of these prompts; of one that is not searched nothing. */
export async function listSearchedTexts(db: Queryable, promptIds: readonly string[]): Promise<SearchedText[]> {
  const text = `select v.prompt_id, v.id, v.title, v.description, v.tags, v.definition
    from prompts p join prompt_versions v on v.prompt_id = p.id where p.id = any ($1::uuid[]) and ${IS_SEARCHED}`;
  const rows = await db.query<SearchedTextRow>(text, [promptIds]);
  return rows.map(({ prompt_id: promptId, id: promptVersionId, ...rest }) => ({ promptId, promptVersionId, ...rest }));
}

/** The version that is searched of each prompt that is, in order of the prompts' ids. */
export function listSearchedVersions(db: Queryable, afterPromptId: string, limit: number): Promise<SearchedVersion[]> {
  return db.query<SearchedVersion>(
    `select p.id as "promptId", v.id as "promptVersionId" from prompts p join prompt_versions v on v.prompt_id = p.id
     where p.id > $1 and ${IS_SEARCHED} order by p.id limit $2`,
    [afterPromptId, limit],
  );
}

/** Adds or takes back one vote and keeps the sum exact; null when the prompt is not published. */
export async function changeVote(tx: Tx, accountId: string, promptId: string, up: boolean): Promise<number | null> {
  const lock = `select up_votes from prompts
    where id = $1 and unpublished_at is null and latest_version_id is not null for update`;
  const [prompt] = await tx.query<{ up_votes: number }>(lock, [promptId]);
  if (prompt === undefined) return null;
  const change = up
    ? "insert into prompt_votes (prompt_id, account_id) values ($1, $2) on conflict do nothing returning 1"
    : "delete from prompt_votes where prompt_id = $1 and account_id = $2 returning 1";
  if ((await tx.query(change, [promptId, accountId])).length === 0) return prompt.up_votes;
  const upVotes = prompt.up_votes + (up ? 1 : -1);
  await tx.query("update prompts set up_votes = $2 where id = $1", [promptId, upVotes]);
  return upVotes;
}

/** Adds runs, counted by version, to the prompts; unknown versions count nowhere. Rows are locked in id order. */
export async function addUses(tx: Queryable, counts: ReadonlyMap<string, number>): Promise<void> {
  const text = `with counted as (
      select v.prompt_id, sum(c.n)::bigint as n from unnest($1::uuid[], $2::bigint[]) c (version_id, n)
      join prompt_versions v on v.id = c.version_id group by v.prompt_id
    ), locked as materialized (
      select p.id, counted.n from prompts p join counted on counted.prompt_id = p.id order by p.id for update of p
    )
    update prompts p set uses = p.uses + locked.n from locked where p.id = locked.id`;
  if (counts.size > 0) await tx.query(text, [[...counts.keys()], [...counts.values()]]);
}

export interface PromptOfModel {
  readonly promptId: string;
  readonly slug: string;
  readonly title: string;
  readonly promptVersionId: string;
  /** Number of the version among those of the prompt. */
  readonly version: number;
  /** False: only callers that name this version are concerned. */
  readonly isLatest: boolean;
  /** Those of the asked models that the version uses, in any step. */
  readonly models: readonly string[];
}

/** Published versions of live prompts that call one of these models. Reads all of them: for an operator's question. */
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

export interface Popularity {
  readonly uses: number;
  readonly upVotes: number;
}

/** For search, which lets it decide between prompts that match equally well. */
export async function listPopularity(db: Queryable, promptIds: readonly string[]): Promise<Map<string, Popularity>> {
  const rows = await db.query<{ id: string; uses: number; up_votes: number }>(
    "select id, uses, up_votes from prompts where id = any ($1::uuid[])",
    [promptIds],
  );
  return new Map(rows.map(({ id, uses, up_votes: upVotes }) => [id, { uses, upVotes }]));
}
