/** SQL that processes use to read the index. */
import type { Database, Queryable } from "../../platform/database/database.ts";
import type { Embedder } from "./embeddings-store.ts";

export interface Change {
  readonly doc: number;
  readonly terms: readonly string[];
  readonly words: readonly string[];
}

/**
 * Lists what was committed since the read that returned `cursor`, each change once. The cursor is that read's snapshot:
 * anything it did not see is new, whatever its id and however long its transaction was open.
 * @returns `cursor`: where the next read starts.
 */
export async function readChanges(
  db: Database,
  cursor: string,
): Promise<{ readonly cursor: string; readonly active: Embedder | null; readonly changes: readonly Change[] }> {
  const rows = await db.pipelined<{
    cursor: string;
    embedder: string | null;
    dims: number;
    doc: number | null;
    terms: string[];
    words: string[];
  }>(
    {
      name: "search_read_changes",
      text: `select now.cursor, active.embedder, active.dims, c.doc, c.terms, c.words
     from (select pg_current_snapshot()::text as cursor) as now
     left join search_embedders active on active.state = 'active'
     left join search_changes c on c.xid >= pg_snapshot_xmin($1::pg_snapshot)
       and not pg_visible_in_snapshot(c.xid, $1::pg_snapshot)`,
    },
    [cursor],
  );
  const first = rows[0];
  if (first === undefined) throw new Error("The changes of the search index could not be read.");
  return {
    cursor: first.cursor,
    active: first.embedder === null ? null : { embedder: first.embedder, dims: first.dims },
    changes: rows.flatMap(({ doc, terms, words }) => (doc === null ? [] : [{ doc, terms, words }])),
  };
}

export async function readCursor(db: Queryable): Promise<string> {
  const [row] = await db.query<{ cursor: string }>("select pg_current_snapshot()::text as cursor");
  if (row === undefined) throw new Error("The database returned no snapshot.");
  return row.cursor;
}

export interface ReplicaDocument {
  readonly doc: number;
  readonly promptId: string;
  readonly title: string;
  readonly len: number;
}

const DOCUMENT_COLUMNS = `doc, prompt_id as "promptId", title, len`;

export function listDocuments(db: Queryable, afterDoc: number, limit: number): Promise<ReplicaDocument[]> {
  return db.query(`select ${DOCUMENT_COLUMNS} from search_docs where doc > $1 order by doc limit $2`, [
    afterDoc,
    limit,
  ]);
}

export function listDocumentsOf(db: Queryable, docs: readonly number[]): Promise<ReplicaDocument[]> {
  return db.query(`select ${DOCUMENT_COLUMNS} from search_docs where doc = any($1::int[])`, [docs]);
}

export interface TermCount {
  readonly term: string;
  readonly df: number;
}

export function listTerms(db: Queryable, afterTerm: string, limit: number): Promise<TermCount[]> {
  return db.query("select term, df from search_terms where term > $1 order by term limit $2", [afterTerm, limit]);
}

export function listTermsOf(db: Queryable, terms: readonly string[]): Promise<TermCount[]> {
  return db.query("select term, df from search_terms where term = any($1::text[])", [terms]);
}

export interface WordCount {
  readonly word: string;
  readonly n: number;
  readonly nTitle: number;
}

const WORD_COLUMNS = `word, n, n_title as "nTitle"`;

export function listWords(db: Queryable, afterWord: string, limit: number): Promise<WordCount[]> {
  return db.query(`select ${WORD_COLUMNS} from search_vocab where word > $1 order by word limit $2`, [
    afterWord,
    limit,
  ]);
}

export function listWordsOf(db: Queryable, words: readonly string[]): Promise<WordCount[]> {
  return db.query(`select ${WORD_COLUMNS} from search_vocab where word = any($1::text[])`, [words]);
}

export interface WeightedTerm {
  /** Number of the query token that it stands for. */
  readonly group: number;
  readonly term: string;
  readonly weight: number;
  /** The token itself or a correction of it, not an expansion. */
  readonly isDirect: boolean;
}

export interface LexicalHit {
  readonly doc: number;
  readonly score: number;
  /** At least one hit is direct. */
  readonly isDirect: boolean;
}

const K1 = 1.2;
const B = 0.6;

/**
 * BM25 over the postings. Within one token, only the largest value counts, so that many synonyms do not outvote one
 * real word. It is an index-only scan once the table is vacuumed. A statement timeout cancels it in the database, where
 * it would otherwise run for seconds after the caller stopped waiting.
 */
export function findByTerms(
  db: Database,
  { terms, averageLength, limit }: { terms: readonly WeightedTerm[]; averageLength: number; limit: number },
  timeoutMs: number,
): Promise<LexicalHit[]> {
  return db.queryWithin(
    timeoutMs,
    {
      name: "search_find_by_terms",
      text: `
        with t as (select * from unnest($1::int[], $2::text[], $3::real[], $4::bool[]) as t (g, term, w, direct)),
             h as (select p.doc, t.g, bool_or(t.direct) as direct,
                          max(t.w * p.tf * ${K1 + 1}::real / (p.tf + ${K1}::real * (${1 - B}::real + ${B}::real * p.len / $5::real))) as s
                   from t join search_postings p on p.term = t.term group by p.doc, t.g)
        select doc, sum(s)::float8 as score, bool_or(direct) as "isDirect"
        from h group by doc order by sum(s) desc, doc limit $6`,
    },
    [
      terms.map(({ group }) => group),
      terms.map(({ term }) => term),
      terms.map(({ weight }) => weight),
      terms.map(({ isDirect }) => isDirect),
      averageLength,
      limit,
    ],
  );
}
