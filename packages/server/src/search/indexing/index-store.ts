/**
 * SQL that writes the index. All of it runs under one advisory lock, since two publishers that update the counts of the
 * same words in different orders would deadlock.
 */
import type { Database, Queryable, Tx } from "../../platform/database/database.ts";
import { ANALYSER_VERSION } from "../text/analyser.ts";
import type { DocumentTerms, SearchDocument } from "./document-terms.ts";

/** Any fixed number; the whole database shares one namespace for advisory locks. */
const PUBLISH_LOCK = 7_306_011;
const LOCK_WAIT_MS_MAX = 60_000;

/** Waits for a bulk import of another process longer than a statement may usually take. */
export async function lockIndex(tx: Tx): Promise<void> {
  const [attempt] = await tx.query<{ locked: boolean }>("select pg_try_advisory_xact_lock($1) as locked", [
    PUBLISH_LOCK,
  ]);
  if (attempt?.locked === true) return;
  const [before] = await tx.query<{ lock: string; statement: string }>(
    "select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement",
  );
  await setTimeouts(tx, `${LOCK_WAIT_MS_MAX}ms`, `${LOCK_WAIT_MS_MAX}ms`);
  await tx.query("select pg_advisory_xact_lock($1)", [PUBLISH_LOCK]);
  await setTimeouts(tx, before?.lock ?? "0", before?.statement ?? "0");
}

/** Runs a transaction with exclusive access to the index, and waits for it with the same timeout. */
export function underIndexLock<Result>(db: Database, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  const locked = async (tx: Tx) => {
    await lockIndex(tx);
    return work(tx);
  };
  return db.tx(locked, { statementTimeoutMs: LOCK_WAIT_MS_MAX });
}

function setTimeouts(tx: Tx, lock: string, statement: string): Promise<unknown> {
  return tx.query("select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)", [
    lock,
    statement,
  ]);
}

export interface IndexedDocument {
  readonly doc: number;
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly contentHash: Buffer;
}

export async function listIndexed(tx: Queryable, promptIds: readonly string[]): Promise<IndexedDocument[]> {
  return tx.query<IndexedDocument>(
    `select doc, prompt_id as "promptId", prompt_version_id as "promptVersionId", content_hash as "contentHash"
     from search_docs where prompt_id = any($1::uuid[])`,
    [promptIds],
  );
}

/** For new versions with the same text: postings and vectors stay. */
export async function renameVersions(tx: Tx, versions: readonly (readonly [doc: number, id: string])[]): Promise<void> {
  if (versions.length === 0) return;
  await tx.query(
    `update search_docs set prompt_version_id = v.id from unnest($1::int[], $2::uuid[]) as v (doc, id)
     where search_docs.doc = v.doc`,
    [versions.map(([doc]) => doc), versions.map(([, id]) => id)],
  );
}

/** Removes documents and their share of the term and word counts. Their postings and vectors are deleted by cascade. */
export async function deleteDocuments(tx: Tx, docs: readonly number[]): Promise<void> {
  if (docs.length === 0) return;
  await noteChanges(tx, docs);
  await tx.query(
    `update search_terms set df = df - gone.n
     from (select term, count(*)::int as n from search_postings where doc = any($1::int[]) group by term) as gone
     where search_terms.term = gone.term`,
    [docs],
  );
  await tx.query(
    `update search_vocab set n = search_vocab.n - gone.n, n_title = search_vocab.n_title - gone.n_title
     from (select word, count(*)::int as n, count(*) filter (where in_title)::int as n_title
           from (select w as word, w = any(title_words) as in_title
                 from search_docs, unnest(words) as w where doc = any($1::int[])) as each_word
           group by word) as gone
     where search_vocab.word = gone.word`,
    [docs],
  );
  await tx.query("delete from search_docs where doc = any($1::int[])", [docs]);
}

export type NewDocument = SearchDocument & DocumentTerms;

/** @returns the new document number of each prompt. */
export async function insertDocuments(tx: Tx, documents: readonly NewDocument[]): Promise<Map<string, number>> {
  const rows = await tx.query<{ doc: number; promptId: string }>(
    `insert into search_docs (prompt_id, prompt_version_id, title, description, tags, input_names, words, title_words,
                              len, analyser, content_hash)
     select prompt_id, prompt_version_id, title, description, tags, input_names, words, title_words, len, $2,
            decode(content_hash, 'hex')
     from json_to_recordset($1::json) as d (prompt_id uuid, prompt_version_id uuid, title text, description text,
       tags text[], input_names text[], words text[], title_words text[], len real, content_hash text)
     returning doc, prompt_id as "promptId"`,
    [JSON.stringify(documents.map(documentRow)), ANALYSER_VERSION],
  );
  const docOf = new Map(rows.map(({ doc, promptId }) => [promptId, doc]));
  await insertPostings(tx, documents, docOf);
  await raiseCounts(tx, documents);
  await noteChanges(tx, [...docOf.values()]);
  return docOf;
}

function documentRow(document: NewDocument) {
  return {
    prompt_id: document.promptId,
    prompt_version_id: document.promptVersionId,
    title: document.title,
    description: document.description,
    tags: document.tags,
    input_names: document.inputNames,
    words: document.words,
    title_words: document.titleWords,
    len: document.length,
    content_hash: document.contentHash.toString("hex"),
  };
}

async function insertPostings(tx: Tx, documents: readonly NewDocument[], docOf: ReadonlyMap<string, number>) {
  const postings = documents.flatMap(({ promptId, weights, length }) =>
    [...weights].map(([term, tf]) => ({ term, doc: docOf.get(promptId), tf, length })),
  );
  // Inserting in key order fills the index from left to right.
  postings.sort((a, b) => (a.term < b.term ? -1 : a.term > b.term ? 1 : 0));
  await tx.query(
    `insert into search_postings (term, doc, tf, len)
     select * from unnest($1::text[], $2::int[], $3::real[], $4::real[])`,
    [
      postings.map(({ term }) => term),
      postings.map(({ doc }) => doc),
      postings.map(({ tf }) => tf),
      postings.map(({ length }) => length),
    ],
  );
}

async function raiseCounts(tx: Tx, documents: readonly NewDocument[]): Promise<void> {
  const terms = countEach(documents.flatMap(({ weights }) => [...weights.keys()]));
  await tx.query(
    `insert into search_terms (term, df) select * from unnest($1::text[], $2::int[])
     on conflict (term) do update set df = search_terms.df + excluded.df`,
    [terms.map(([term]) => term), terms.map(([, n]) => n)],
  );
  const words = countEach(documents.flatMap((document) => document.words));
  const inTitle = new Map(countEach(documents.flatMap((document) => document.titleWords)));
  await tx.query(
    `insert into search_vocab (word, n, n_title) select * from unnest($1::text[], $2::int[], $3::int[])
     on conflict (word) do update set n = search_vocab.n + excluded.n, n_title = search_vocab.n_title + excluded.n_title`,
    [words.map(([word]) => word), words.map(([, n]) => n), words.map(([word]) => inTitle.get(word) ?? 0)],
  );
}

/** Sorted, so that every writer locks rows in the same order. */
function countEach(items: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Notifies every process of the documents, terms, and words to read again. */
async function noteChanges(tx: Tx, docs: readonly number[]): Promise<void> {
  await tx.query(
    `insert into search_changes (doc, terms, words)
     select d.doc, coalesce(array_agg(p.term) filter (where p.term is not null), '{}'), d.words
     from search_docs d left join search_postings p using (doc) where d.doc = any($1::int[]) group by d.doc`,
    [docs],
  );
}

/** Lists documents that an older analyser version indexed, with their original text. */
export function listOutdated(db: Queryable, limit: number): Promise<SearchDocument[]> {
  return db.query(
    `select prompt_id as "promptId", prompt_version_id as "promptVersionId", title, description, tags,
            input_names as "inputNames"
     from search_docs where analyser < $1 order by analyser, doc limit $2`,
    [ANALYSER_VERSION, limit],
  );
}

/** Deletes counts that have dropped to zero. */
export async function deleteUnusedCounts(tx: Tx): Promise<void> {
  await tx.query("delete from search_terms where df = 0");
  await tx.query("delete from search_vocab where n = 0");
}

const CHANGES_RETAINED = "1 hour";

/** A process that was suspended for longer reads everything again. */
export async function deleteOldChanges(db: Queryable): Promise<void> {
  await db.query("delete from search_changes where at < promptd_now() - $1::interval", [CHANGES_RETAINED]);
}

/**
 * Run this after a bulk import: before it, queries visit the table for every posting. It takes minutes on a large
 * table, so it runs outside transactions and without the statement timeout.
 */
export async function vacuumIndex(db: Database): Promise<void> {
  await db.runAlone("vacuum (analyze) search_postings");
}
