/** The search service: one object per process, which holds a copy of the index and answers queries. */
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import { loadOnce } from "../../platform/resilience/load-once.ts";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import type { Log } from "../../platform/log.ts";
import type { Tick } from "../../platform/periodic-work.ts";
import { loadBuiltInEmbedder, type BuiltInEmbedder } from "../meaning/built-in-embedder.ts";
import { verifyCounts, verifyDocuments, type PublishedPrompts } from "../indexing/verify-index.ts";
import { embedByBuiltIn } from "../indexing/embed-built-in.ts";
import { createEmbeddingByModel } from "../indexing/embed-by-model.ts";
import { loadExpansions, type ExpansionTable } from "../text/expansion.ts";
import { findDocuments, TooManySearches, type FindPorts } from "./find-documents.ts";
import { orderPrompts, type DenseEvidence, type PopularityOf } from "./fusion.ts";
import { renewOutdated, tidyIndex } from "../indexing/housekeeping.ts";
import { createEmbeddingWeight, type EmbeddingWeight } from "./embedding-weight.ts";
import { findByBuiltIn, findByVector, mixEvidence } from "./nearest-documents.ts";
import { createReplica, type IndexReplica } from "../indexing/replica.ts";
import type { ReplicatedEmbedder } from "../indexing/replica-vectors.ts";
import type { Embedder } from "../indexing/embeddings-store.ts";
import type { QueryPlan } from "./query-plan.ts";
import { createQueryVectors, type QueryVectors } from "../meaning/query-vectors.ts";
import {
  createModelLength,
  isRemote,
  remoteEmbedderId,
  type RemoteEmbedder,
  type ModelLength,
} from "../meaning/remote-embedder.ts";
import { loadTranslator, type Translator } from "../text/translation.ts";

export interface SearchOptions {
  readonly db: Database;
  readonly log: Log;
  readonly clock: Clock;
  /** Null: only the built-in vectors are used, and nothing leaves the machine. */
  readonly embeddings?: RemoteEmbedder | null | undefined;
  /** What the weekly audit compares the index with. */
  readonly published?: PublishedPrompts | undefined;
  /** Orders prompts with equal scores: more uses, then more votes, then the id. */
  readonly popularityOf?: PopularityOf | undefined;
  /** Test only: how long a query waits for the embeddings model. */
  readonly embeddingDeadlineMs?: number;
  /** Test only: how long a query waits for the word search in the database. */
  readonly wordsTimeoutMs?: number;
}

export interface Search {
  /**
   * Finds at most `limit` prompts for a query of 1 to 200 characters, best first. It finds everything committed before
   * the call. The caller must still check each row, since a prompt may be unpublished a moment later.
   */
  find(query: string, limit: number): Promise<string[]>;
  /** Loads the data before the first query, only once even if called repeatedly. Failures are logged, not thrown. */
  warm(): Promise<void>;
  /** True once `warm` has finished. */
  isLoaded(): boolean;
  readonly ticks: readonly Tick[];
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 3;
/** Timeout for the statement, and for getting a connection before it. After that, only meaning and titles are used. */
const WORDS_TIMEOUT_MS = 1_000;
const REFRESH_EVERY_MS = 1_000;
/** Up to this size, the built-in vectors stay loaded along with a model's, as a fallback when the model fails. */
const FALLBACK_DOCUMENTS_MAX = 50_000;
const HOUR_SECONDS = 3_600;

export function createSearch(options: SearchOptions): Search {
  const model = options.embeddings ?? null;
  const modelLength = createModelLength();
  const { embeddingDeadlineMs: deadlineMs } = options;
  const queryVectors = model === null ? null : createQueryVectors({ ...options, model, modelLength, deadlineMs });
  const embeddingWeight = createEmbeddingWeight();
  const wordsTimeoutMs = options.wordsTimeoutMs ?? WORDS_TIMEOUT_MS;
  const connections = createSemaphore({
    permits: CONNECTIONS_MAX,
    timeoutMs: wordsTimeoutMs,
    timeoutError: () => new TooManySearches(),
  });
  let isLoaded = false;
  let timer: NodeJS.Timeout | undefined;
  const closing = new AbortController();

  const open = loadOnce(async (): Promise<Opened> => {
    const [base, table, translator] = await Promise.all([loadBuiltInEmbedder(), loadExpansions(), loadTranslator()]);
    const warnOfOther = createWarning(options.log);
    const chooseEmbedders = (active: Embedder | null, documents: number) => {
      if (isOfOtherModel(active, model)) warnOfOther();
      return chooseEmbeddersOf(base, model, active, documents);
    };
    const replica = createReplica({ db: options.db, clock: options.clock, chooseEmbedders });
    timer = setInterval(() => void replica.refresh().catch(() => {}), REFRESH_EVERY_MS).unref();
    return { base, table, translator, replica };
  });
  const warm = loadOnce(async (): Promise<void> => {
    try {
      await (await open()).replica.refresh();
    } catch (error) {
      options.log.warn({ err: error }, "search data could not be loaded; the first query will retry");
    }
    isLoaded = true;
  });
  return {
    find: async (query, limit) => {
      const { base, replica, ...reading } = await open();
      const findByMeaning = meaningFinder({ base, replica }, queryVectors, embeddingWeight);
      const { db, log } = options;
      const ports = { db, log, replica, ...reading, connections, wordsTimeoutMs, findByMeaning };
      return orderPrompts(await rankPrompts(query, ports), limit, options.popularityOf);
    },
    warm,
    isLoaded: () => isLoaded,
    ticks: createTicks(options, modelLength, closing.signal),
    close: async () => {
      closing.abort();
      clearInterval(timer);
      queryVectors?.close();
      await open.current();
    },
  };
}

interface Opened {
  readonly base: BuiltInEmbedder;
  readonly table: ExpansionTable;
  readonly translator: Translator;
  readonly replica: IndexReplica;
}

function createTicks(options: SearchOptions, modelLength: ModelLength, closing: AbortSignal): Tick[] {
  const { db, embeddings: model } = options;
  const embedByModel = model && createEmbeddingByModel({ ...options, model, modelLength, closing });
  return [
    { name: "search-embed", everySeconds: 60, run: () => embedByBuiltIn({ ...options, closing }, !model) },
    // Only one of all processes runs a tick with this name, and it must be one that has this model.
    ...(embedByModel ? [{ name: `search-embed ${model.model}`, everySeconds: 1, run: embedByModel }] : []),
    { name: "search-renew", everySeconds: 30, run: () => renewOutdated(db) },
    { name: "search-tidy", everySeconds: HOUR_SECONDS, run: () => tidyIndex(db) },
    { name: "search-audit", everySeconds: 7 * 24 * HOUR_SECONDS, run: () => auditIndex(options) },
  ];
}

async function auditIndex({ db, log, published }: SearchOptions): Promise<void> {
  if (published !== undefined) await verifyDocuments(db, published, log);
  await verifyCounts(db, log);
}

/**
 * Chooses the active model's vectors if this process can call that model, and the built-in ones unless both are too
 * much.
 */
function chooseEmbeddersOf(
  base: BuiltInEmbedder,
  model: RemoteEmbedder | null,
  active: Embedder | null,
  documents: number,
): ReplicatedEmbedder[] {
  const own = { embedder: base.embedder, dims: base.dims, shippedMean: base.mean };
  if (active === null || !isOf(model, active)) return [own];
  const remote = { ...active, shippedMean: null };
  return documents <= FALLBACK_DOCUMENTS_MAX ? [remote, own] : [remote];
}

function isOf(model: RemoteEmbedder | null, active: Embedder): boolean {
  return model !== null && remoteEmbedderId(model, active.dims) === active.embedder;
}

function isOfOtherModel(active: Embedder | null, model: RemoteEmbedder | null): boolean {
  return active !== null && isRemote(active.embedder) && !isOf(model, active);
}

/** Logs once per process; otherwise every query would log it. */
function createWarning(log: Log): () => void {
  let isSaid = false;
  return () => {
    if (isSaid) return;
    isSaid = true;
    log.warn(
      {},
      "another process uses an embeddings model for search that is not configured in this process; this process uses the built-in vectors (set PROMPTD_EMBEDDING_MODEL to the same value everywhere)",
    );
  };
}

/**
 * If a version commits while a query is answered, the copy or the database may not know its document number yet, or no
 * longer, and its prompt would be missed although it always exists. So the query then runs once more.
 */
async function rankPrompts(query: string, ports: FindPorts) {
  const rank = async () => {
    await ports.replica.refresh();
    const ranked = await findDocuments(query, ports);
    const prompts = ranked.flatMap(({ doc, score }) => {
      const promptId = ports.replica.documents.get(doc)?.promptId;
      return promptId === undefined ? [] : [{ promptId, score }];
    });
    return { prompts, isWhole: prompts.length === ranked.length };
  };
  const first = await rank();
  return first.isWhole ? first.prompts : (await rank()).prompts;
}

/** A query uses one model from start to end: its id is looked up once, together with its matrix. */
function meaningFinder(
  { base, replica }: Pick<Opened, "base" | "replica">,
  queryVectors: QueryVectors | null,
  embeddingWeight: EmbeddingWeight,
) {
  return async (query: string, plan: QueryPlan, limit: number): Promise<DenseEvidence | null> => {
    const active = replica.activeEmbedder();
    const remote = active === null || active.embedder === base.embedder ? null : replica.matrixOf(active.embedder);
    const builtIn = replica.matrixOf(base.embedder);
    const pending = active !== null && remote !== null ? queryVectors?.find(query, active) : null;
    const own = builtIn === null ? null : await findByBuiltIn(base, builtIn, plan, limit);
    const vector = (await pending) ?? null;
    if (remote === null || vector === null) return own;
    const byModel = await findByVector(remote, vector, { certainty: plan.certainty, limit });
    return builtIn === null ? byModel : mixEvidence(own, byModel, embeddingWeight(remote, builtIn));
  };
}
