/** SQL that compares the index with itself and with the published prompts. */
import type { Queryable, Tx } from "../../platform/database/database.ts";

export interface IndexedVersion {
  readonly promptId: string;
  readonly promptVersionId: string;
}

/** Lists what search finds now of the prompts after `after`, up to and including `last`. */
export function listVersionsBetween(db: Queryable, after: string, last: string): Promise<IndexedVersion[]> {
  return db.query(
    `select prompt_id as "promptId", prompt_version_id as "promptVersionId" from search_docs
     where prompt_id > $1 and prompt_id <= $2`,
    [after, last],
  );
}

/** Recounts terms from the postings. Call it under the index lock. @returns the terms whose counts were wrong. */
export async function recountTerms(tx: Tx): Promise<string[]> {
  const rows = await tx.query<{ term: string }>(
    `insert into search_terms (term, df)
     select term, coalesce(found.df, 0)
     from (select term, count(*)::int as df from search_postings group by term) as found
     full join search_terms stored using (term)
     where coalesce(stored.df, 0) <> coalesce(found.df, 0)
     on conflict (term) do update set df = excluded.df returning term`,
  );
  return rows.map(({ term }) => term);
}

/** Recounts words from the documents. Call it under the index lock. @returns the words whose counts were wrong. */
export async function recountWords(tx: Tx): Promise<string[]> {
  const rows = await tx.query<{ word: string }>(
    `insert into search_vocab (word, n, n_title)
     select word, coalesce(found.n, 0), coalesce(found.n_title, 0)
     from (select word, count(*)::int as n, count(*) filter (where word = any (d.title_words))::int as n_title
           from search_docs d, unnest(d.words) as word group by word) as found
     full join search_vocab stored using (word)
     where (coalesce(stored.n, 0), coalesce(stored.n_title, 0)) <> (coalesce(found.n, 0), coalesce(found.n_title, 0))
     on conflict (word) do update set n = excluded.n, n_title = excluded.n_title returning word`,
  );
  return rows.map(({ word }) => word);
}

/** Makes every process read these counts again; there is no document 0. */
export async function noteCounts(
  tx: Tx,
  { terms, words }: { readonly terms: readonly string[]; readonly words: readonly string[] },
): Promise<void> {
  if (terms.length + words.length === 0) return;
  await tx.query("insert into search_changes (doc, terms, words) values (0, $1::text[], $2::text[])", [terms, words]);
}
