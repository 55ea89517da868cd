/** promptd's search as the service runs it, and its parts alone. */
import { systemClock } from "../../packages/server/src/platform/clock.ts";
import type { Database } from "../../packages/server/src/platform/database/database.ts";
import { createSearch, indexDocuments, vacuumIndex } from "../../packages/server/src/search/index.ts";
import type { RemoteEmbedder, Search } from "../../packages/server/src/search/index.ts";
import { findByBuiltIn } from "../../packages/server/src/search/query/nearest-documents.ts";
import { findByTerms } from "../../packages/server/src/search/indexing/replica-store.ts";
import { createReplica } from "../../packages/server/src/search/indexing/replica.ts";
import { planQuery } from "../../packages/server/src/search/query/query-plan.ts";
import { loadBuiltInEmbedder } from "../../packages/server/src/search/meaning/built-in-embedder.ts";
import { loadExpansions } from "../../packages/server/src/search/text/expansion.ts";
import { loadTranslator } from "../../packages/server/src/search/text/translation.ts";
import { createTimeSlice } from "../../packages/server/src/platform/time-slice.ts";
import { documentOf } from "./evaluation-data.ts";
import type { CorpusPrompt } from "./evaluation-data.ts";
import type { System } from "./peers.ts";
import { benchLog } from "./scratch-database.ts";

const DEPTH = 10;
const BATCH = 500;
const WORDS_TIMEOUT_MS = 5_000;

/** Indexes as an import does: 500 documents in one transaction. */
export async function indexCorpus(db: Database, corpus: readonly CorpusPrompt[]): Promise<void> {
  for (let i = 0; i < corpus.length; i += BATCH) {
    await db.tx((tx) => indexDocuments(tx, corpus.slice(i, i + BATCH).map(documentOf)), { statementTimeoutMs: 0 });
  }
  await vacuumIndex(db);
}

export interface OwnSearch extends System {
  readonly search: Search;
}

export async function createOwnSearch(db: Database, embeddings: RemoteEmbedder | null): Promise<OwnSearch> {
  const search = createSearch({
    db,
    log: benchLog,
    clock: systemClock,
    embeddings,
    embeddingDeadlineMs: 10_000,
    wordsTimeoutMs: WORDS_TIMEOUT_MS, // even a busy machine must search the words, not only the titles
  });
  const embed = search.ticks.find(({ name }) => name.startsWith("search-embed "));
  const isReady = async () => {
    const [row] = await db.query<{ ready: boolean }>(
      "select exists (select from search_embedders where state = 'active' and model = $1) as ready",
      [embeddings?.model],
    );
    return row?.ready === true;
  };
  if (embeddings !== null) {
    while (!(await isReady())) await embed?.run();
  }
  await search.warm();
  const name = embeddings === null ? "promptd" : "promptd, test embedder";
  return { name, search, find: (query) => search.find(query, DEPTH) };
}

export async function createLegs(db: Database): Promise<System[]> {
  const [base, table, translator] = await Promise.all([loadBuiltInEmbedder(), loadExpansions(), loadTranslator()]);
  const own = { embedder: base.embedder, dims: base.dims, shippedMean: base.mean };
  const replica = createReplica({ db, clock: systemClock, chooseEmbedders: () => [own] });
  await replica.refresh();
  const matrix = replica.matrixOf(base.embedder);
  if (matrix === null) throw new Error("The built-in vectors were not loaded.");
  const plan = (query: string) =>
    planQuery(query, {
      counts: {
        documentCount: replica.documents.size,
        vocabulary: replica.vocabulary,
        countOf: (term) => replica.countOf(term),
        pairsWith: (character) => replica.pairsWith(character),
      },
      table,
      translator,
      slice: createTimeSlice(),
    });
  const idsOf = (hits: readonly { doc: number }[]) =>
    hits.slice(0, DEPTH).flatMap(({ doc }) => replica.documents.get(doc)?.promptId ?? []);
  return [
    {
      name: "lexical leg",
      find: async (query) => {
        const { lexical: terms } = await plan(query);
        return idsOf(
          await findByTerms(db, { terms, averageLength: replica.averageLength, limit: DEPTH }, WORDS_TIMEOUT_MS),
        );
      },
    },
    {
      name: "dense leg",
      find: async (query) => idsOf((await findByBuiltIn(base, matrix, await plan(query), DEPTH))?.neighbors ?? []),
    },
  ];
}
