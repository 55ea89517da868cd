/** Search as the service uses it: one object per process that keeps a copy of the index and answers queries. */
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
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
  /** Null: meaning comes from the built-in vectors, and nothing leaves the machine. */
  readonly embeddings?: RemoteEmbedder | null | undefined;
  /** What the weekly audit holds the index against. */
  readonly published?: PublishedPrompts | undefined;
  /** Decides between prompts of equal score: more uses, then more votes, then the id. */
  readonly popularityOf?: PopularityOf | undefined;
  /** Test only: how long a query waits for the embeddings model. */
  readonly embeddingDeadlineMs?: number;
  /** Test only: how long a query waits for the database to look for its words. */
  readonly wordsTimeoutMs?: number;
}

export interface Search {
  /**
   * Prompts for a query of 1 to 200 characters, best first, at most `limit`. What committed before the call is found;
   * the caller still checks each row, for a prompt may be unpublished a moment later.
   */
  find(query: string, limit: number): Promise<string[]>;
  /** Loads the data ahead of the first query, once however often it is called. Failures are logged, not thrown. */
  warm(): Promise<void>;
  /** True once `warm` has ended. */
  isLoaded(): boolean;
  readonly ticks: readonly Tick[];
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 3;
/** For the statement, and before it for one of the connections: past it meaning and titles answer alone. */
const WORDS_TIMEOUT_MS = 1_000;
const REFRESH_EVERY_MS = 1_000;
/** Up to here the built-in vectors stay loaded beside a model's, to answer when the model does not. */
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
  let opened: Promise<Opened> | null = null;
  let isLoaded = false;
  let warming: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  const closing = new AbortController();

  async function openAll(): Promise<Opened> {
    const [base, table, translator] = await Promise.all([loadBuiltInEmbedder(), loadExpansions(), loadTranslator()]);
    const warnOfOther = createWarning(options.log);
    const chooseEmbedders = (active: Embedder | null, documents: number) => {
      if (isOfOtherModel(active, model)) warnOfOther();
      return chooseEmbeddersOf(base, model, active, documents);
    };
    const replica = createReplica({ db: options.db, clock: options.clock, chooseEmbedders });
    timer = setInterval(() => void replica.refresh().catch(() => {}), REFRESH_EVERY_MS).unref();
    return { base, table, translator, replica };
  }
  function open(): Promise<Opened> {
    opened ??= openAll().catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  }
  async function warm(): Promise<void> {
    try {
      await (await open()).replica.refresh();
    } catch (error) {
      options.log.warn({ err: error }, "search could not be prepared; the first query tries again");
    }
    isLoaded = true;
  }
  return {
    find: async (query, limit) => {
      const { base, replica, ...reading } = await open();
      const findByMeaning = meaningFinder({ base, replica }, queryVectors, embeddingWeight);
      const { db, log } = options;
      const ports = { db, log, replica, ...reading, connections, wordsTimeoutMs, findByMeaning };
      return orderPrompts(await rankPrompts(query, ports), limit, options.popularityOf);
    },
    warm: () => (warming ??= warm()),
    isLoaded: () => isLoaded,
    ticks: createTicks(options, modelLength, closing.signal),
    close: async () => {
      closing.abort();
      clearInterval(timer);
      queryVectors?.close();
      await opened?.catch(() => null);
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
  // Of all processes one runs a tick of this name: those without this model must not run it.
  const modelTicks = model
    ? [
        {
          name: `search-embed ${model.model}`,
          everySeconds: 1,
          run: createEmbeddingByModel({ ...options, model, modelLength, closing }),
        },
      ]
    : [];
  return [
    {
      name: "search-embed",
      everySeconds: 60,
      run: () => embedByBuiltIn({ ...options, closing }, !model),
    },
    ...modelTicks,
    { name: "search-renew", everySeconds: 30, run: () => renewOutdated(db) },
    { name: "search-tidy", everySeconds: HOUR_SECONDS, run: () => tidyIndex(db) },
    { name: "search-audit", everySeconds: 7 * 24 * HOUR_SECONDS, run: () => auditIndex(options) },
  ];
}

async function auditIndex({ db, log, published }: SearchOptions): Promise<void> {
  if (published !== undefined) await verifyDocuments(db, published, log);
  await verifyCounts(db, log);
}

/** The active model's vectors if this process can ask that model, and the built-in ones unless that is too much. */
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

/** Once in the life of a process: it would come with every query. */
function createWarning(log: Log): () => void {
  let isSaid = false;
  return () => {
    if (isSaid) return;
    isSaid = true;
    log.warn(
      {},
      "another process has search on an embeddings model that this one is not set to; this one answers with the built-in vectors (PROMPTD_EMBEDDING_MODEL should be the same everywhere)",
    );
  };
}

/**
 * A version that commits while the query is answered has a number that the copy or the database does not know yet, or not
 * any more: its prompt, which is there all the time, would be missed. So the query is then asked once more.
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

/** A model answers a query from start to end: its id is looked up once, with the matrix that belongs to it. */
function meaningFinder(
  { base, replica }: Pick<Opened, "base" | "replica">,
  queryVectors: QueryVectors | null,
  embeddingWeight: EmbeddingWeight,
) {
  return async (query: string, plan: QueryPlan, limit: number): Promise<DenseEvidence | null> => {
    const active = replica.activeEmbedder();
    const remote = active === null || active.embedder === base.embedder ? null : replica.matrixOf(active.embedder);
    const builtIn = replica.matrixOf(base.embedder);
    const asked = active !== null && remote !== null ? queryVectors?.find(query, active) : null;
    const own = builtIn === null ? null : await findByBuiltIn(base, builtIn, plan, limit);
    const vector = (await asked) ?? null;
    if (remote === null || vector === null) return own;
    const byModel = await findByVector(remote, vector, { certainty: plan.certainty, limit });
    return builtIn === null ? byModel : mixEvidence(own, byModel, embeddingWeight(remote, builtIn));
  };
}
