/** What others search a catalogue with, on the same records, set up as their documentation recommends. */
import Fuse from "fuse.js";
import MiniSearch from "minisearch";
import type { Database } from "../../packages/server/src/platform/database/database.ts";
import {
  similarity,
  trigramsOf,
  wantedTrigrams,
  wordSimilarity,
} from "../../packages/server/src/search/text/trigram.ts";
import type { CorpusPrompt } from "./evaluation-data.ts";

export interface System {
  readonly name: string;
  /** Prompt ids, best first, at most ten. */
  find(query: string): Promise<string[]>;
}

const DEPTH = 10;

export function createMiniSearch(corpus: readonly CorpusPrompt[]): System {
  const index = new MiniSearch({
    fields: ["title", "description", "tags"],
    searchOptions: { boost: { title: 3 }, fuzzy: 0.2, prefix: true },
  });
  index.addAll(corpus.map(({ id, title, description, tags }) => ({ id, title, description, tags: tags.join(" ") })));
  return {
    name: "MiniSearch",
    find: async (query) =>
      index
        .search(query)
        .slice(0, DEPTH)
        .map(({ id }) => String(id)),
  };
}

export function createFuse(corpus: readonly CorpusPrompt[]): System {
  // Tags as one text: as a list of texts they rank worse (words .844 against .863, typing errors .891 against .925).
  const records = corpus.map(({ id, title, description, tags }) => ({ id, title, description, tags: tags.join(" ") }));
  const index = new Fuse(records, {
    keys: [
      { name: "title", weight: 3 },
      { name: "tags", weight: 1 },
      { name: "description", weight: 1 },
    ],
    ignoreLocation: true,
  });
  return { name: "Fuse.js", find: async (query) => index.search(query, { limit: DEPTH }).map(({ item }) => item.id) };
}

/** What pg_trgm would rank by word_similarity on the title, by our own implementation of it (tested against it). */
export function createTrigramPeer(corpus: readonly CorpusPrompt[]): System {
  const titles = corpus.map(({ id, title }) => ({ id, trigrams: trigramsOf(title) }));
  return {
    name: "trigram",
    find: async (query) => {
      const wanted = wantedTrigrams(query);
      return titles
        .map(({ id, trigrams }) => ({ id, near: wordSimilarity(wanted, trigrams), same: similarity(wanted, trigrams) }))
        .filter(({ near }) => near > 0)
        .sort((a, b) => b.near - a.near || b.same - a.same || (a.id < b.id ? -1 : 1))
        .slice(0, DEPTH)
        .map(({ id }) => id);
    },
  };
}

/** PostgreSQL's own full text search, weighted by field, any word may match. */
export async function createFullText(db: Database, corpus: readonly CorpusPrompt[]): Promise<System> {
  await db.query("create table bench_full_text (id uuid primary key, words tsvector not null)");
  for (let i = 0; i < corpus.length; i += 1_000) {
    const page = corpus.slice(i, i + 1_000);
    await db.query(
      `insert into bench_full_text
       select id, setweight(to_tsvector('english', title), 'A') || setweight(to_tsvector('english', rest), 'B')
       from unnest($1::uuid[], $2::text[], $3::text[]) as d (id, title, rest)`,
      [
        page.map(({ id }) => id),
        page.map(({ title }) => title),
        page.map(({ description, tags }) => `${description} ${tags.join(" ")}`),
      ],
    );
  }
  await db.query("create index on bench_full_text using gin (words)");
  await db.query("vacuum (analyze) bench_full_text");
  return {
    name: "full text",
    find: async (query) => {
      const rows = await db.query<{ id: string }>(
        {
          name: "bench_full_text",
          text: `with q as (select replace(plainto_tsquery('english', $1)::text, '&', '|')::tsquery as words)
                 select d.id from bench_full_text d, q where d.words @@ q.words
                 order by ts_rank(d.words, q.words) desc, d.id limit ${DEPTH}`,
        },
        [query],
      );
      return rows.map(({ id }) => id);
    },
  };
}
