/**
 * This process's copy of the index in memory: titles, term and word counts, and vectors. PostgreSQL is the source of
 * truth. The copy is updated before every query and once a second, so at worst it lacks what commits in the meantime.
 *
 *   load      everything, in pages, so that no page blocks the process for long
 *   refresh   what search_changes lists since the last poll; several callers share one poll
 *
 * A poll is small: slow work, such as an embedder's vectors or their mean, runs in the background (replica-vectors.ts).
 */
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import { titleKey, titleLetters, unspacedCharacters } from "../text/analyser.ts";
import { ReplicaVectors, type ReplicatedEmbedder } from "./replica-vectors.ts";
import * as store from "./replica-store.ts";
import type { Embedder } from "./embeddings-store.ts";
import type { Change, ReplicaDocument } from "./replica-store.ts";
import { createTimeSlice } from "../../platform/time-slice.ts";
import type { VectorMatrix } from "../meaning/vector-matrix.ts";
import { Vocabulary } from "../text/vocabulary.ts";

export interface ReplicaOptions {
  readonly db: Database;
  readonly clock: Clock;
  /** Chooses the vectors to hold, given the installation's active embedder and the number of documents. */
  readonly chooseEmbedders: (active: Embedder | null, documents: number) => readonly ReplicatedEmbedder[];
}

const PAGE = 1_000;
/** search_changes goes back an hour; a process that was suspended for nearly that long starts over. */
const RELOAD_AFTER_MS = 50 * 60 * 1_000;

export interface IndexReplica {
  readonly documents: ReadonlyMap<number, ReplicaDocument>;
  readonly vocabulary: Vocabulary;
  readonly averageLength: number;
  /** Number of documents that have the term; 0 if none has it. */
  countOf(term: string): number;
  /** Two-character terms of scripts without spaces that contain the character, in no particular order. */
  pairsWith(character: string): Iterable<string>;
  docsTitled(title: string): ReadonlySet<number>;
  /** Documents whose titles differ at most in case, spaces, signs, and accents. */
  docsSpelled(title: string): ReadonlySet<number>;
  /** Every title, in the form of titleKey, with the documents that have it. */
  titles(): Iterable<readonly [title: string, docs: ReadonlySet<number>]>;
  /**
   * The embedder whose vectors are in memory: after a switch, the previous one until the new one's vectors are read.
   */
  activeEmbedder(): Embedder | null;
  matrixOf(embedder: string): VectorMatrix | null;
  /** Resolves once the copy contains everything committed before the call. */
  refresh(): Promise<void>;
}

export function createReplica(options: ReplicaOptions): IndexReplica {
  let state: State | null = null;
  let running: Promise<void> | null = null;
  let waiting: Promise<void> | null = null;

  async function poll(): Promise<void> {
    const isStale = state === null || options.clock.nowMs() - state.readAtMs > RELOAD_AFTER_MS;
    const next = isStale || state === null ? await loadState(options, state) : state;
    await next.catchUp();
    state = next;
  }
  /** One poll at a time. A caller that arrives during a poll waits for the next one, which starts after its call. */
  function refresh(): Promise<void> {
    if (running === null) {
      running = poll().finally(() => {
        running = null;
      });
      return running;
    }
    waiting ??= running
      .catch(() => {})
      .then(() => {
        waiting = null;
        return refresh();
      });
    return waiting;
  }
  const current = (): State => {
    if (state === null) throw new Error("The search index has not been loaded yet.");
    return state;
  };
  return {
    get documents() {
      return current().documents;
    },
    get vocabulary() {
      return current().vocabulary;
    },
    get averageLength() {
      return current().averageLength;
    },
    countOf: (term) => current().terms.get(term) ?? 0,
    pairsWith: (character) => current().pairs.get(character) ?? [],
    docsSpelled: (title) => current().spelled.get(titleLetters(title)) ?? new Set(),
    docsTitled: (title) => current().titles.get(titleKey(title)) ?? new Set(),
    titles: () => current().titles,
    activeEmbedder: () => current().activeEmbedder,
    matrixOf: (embedder) => current().matrices.of(embedder),
    refresh,
  };
}

async function loadState(options: ReplicaOptions, before: State | null): Promise<State> {
  // Read the cursor first: the first poll reads again what commits while the pages are read.
  const state = new State(options, await store.readCursor(options.db), before);
  await state.loadAll();
  return state;
}

class State {
  readonly documents = new Map<number, ReplicaDocument>();
  readonly terms = new Map<string, number>();
  /** Character -> two-character terms that contain it, for scripts without spaces. */
  readonly pairs = new Map<string, Set<string>>();
  readonly titles = new Map<string, Set<number>>();
  /** Keyed by titleLetters. */
  readonly spelled = new Map<string, Set<number>>();
  readonly vocabulary = new Vocabulary();
  readonly matrices: ReplicaVectors;
  activeEmbedder: Embedder | null;
  readAtMs = 0;
  #totalLength = 0;
  #cursor: string;
  /** No query has used these vectors yet. */
  #isFirst: boolean;
  readonly #options: ReplicaOptions;

  /** `before`: the copy that this one replaces, and reuses vectors from. */
  constructor(options: ReplicaOptions, cursor: string, before: State | null) {
    this.#options = options;
    this.#cursor = cursor;
    this.#isFirst = before === null;
    this.activeEmbedder = before?.activeEmbedder ?? null;
    this.matrices = new ReplicaVectors(options.db, this.documents, before?.matrices ?? null);
  }

  get averageLength(): number {
    return this.documents.size === 0 ? 1 : Math.max(1, this.#totalLength / this.documents.size);
  }

  async loadAll(): Promise<void> {
    const { db } = this.#options;
    await eachPage(
      0,
      (after) => store.listDocuments(db, after, PAGE),
      (row) => {
        this.#setDocument(row);
        return row.doc;
      },
    );
    await eachPage(
      "",
      (after) => store.listTerms(db, after, PAGE),
      ({ term, df }) => {
        this.#setTerm(term, df);
        return term;
      },
    );
    await eachPage(
      "",
      (after) => store.listWords(db, after, PAGE),
      ({ word, n, nTitle }) => {
        this.vocabulary.set(word, n, nTitle);
        return word;
      },
    );
    await this.matrices.follow();
  }

  async catchUp(): Promise<void> {
    const startedAtMs = this.#options.clock.nowMs();
    const read = await store.readChanges(this.#options.db, this.#cursor);
    for (let i = 0; i < read.changes.length; i += PAGE) await this.#apply(read.changes.slice(i, i + PAGE));
    this.#cursor = read.cursor;
    this.readAtMs = startedAtMs;
    const wanted = this.#options.chooseEmbedders(read.active, this.documents.size);
    if (await this.matrices.load(wanted, this.#isFirst)) this.activeEmbedder = read.active;
    this.#isFirst = false;
    await this.matrices.settle();
  }

  /** Reads current values, never differences, so applying a change twice does no harm. */
  async #apply(changes: readonly Change[]): Promise<void> {
    const { db } = this.#options;
    const docs = [...new Set(changes.map(({ doc }) => doc))];
    const terms = [...new Set(changes.flatMap((change) => change.terms))];
    const words = [...new Set(changes.flatMap((change) => change.words))];
    const [documents, termCounts, wordCounts] = await Promise.all([
      store.listDocumentsOf(db, docs),
      store.listTermsOf(db, terms),
      store.listWordsOf(db, words),
    ]);
    const present = new Map(documents.map((row) => [row.doc, row]));
    for (const { term, df } of termCounts) this.#setTerm(term, df);
    for (const { word, n, nTitle } of wordCounts) this.vocabulary.set(word, n, nTitle);
    // Remove documents first: the old and the new text have different document numbers.
    for (const doc of docs) if (!present.has(doc)) this.#deleteDocument(doc);
    const slice = createTimeSlice(); // each title is normalized
    for (const row of documents) {
      if (slice.isOver()) await slice.yieldToEventLoop();
      this.#setDocument(row);
    }
    await this.matrices.read([...present.keys()]);
  }

  #setDocument(row: ReplicaDocument): void {
    this.#forget(row.doc);
    this.documents.set(row.doc, row);
    this.#totalLength += row.len;
    addTo(this.titles, titleKey(row.title), row.doc);
    const letters = titleLetters(row.title);
    if (letters !== "") addTo(this.spelled, letters, row.doc);
  }

  #deleteDocument(doc: number): void {
    this.#forget(doc);
    this.matrices.delete(doc);
  }

  #forget(doc: number): void {
    const row = this.documents.get(doc);
    if (row === undefined) return;
    this.documents.delete(doc);
    this.#totalLength -= row.len;
    deleteFrom(this.titles, titleKey(row.title), doc);
    deleteFrom(this.spelled, titleLetters(row.title), doc);
  }

  #setTerm(term: string, df: number): void {
    if (df > 0) this.terms.set(term, df);
    else this.terms.delete(term);
    const characters = unspacedCharacters(term);
    if (characters.length < 2) return;
    for (const character of characters) {
      const pairs = this.pairs.get(character) ?? new Set();
      if (df > 0) this.pairs.set(character, pairs.add(term));
      else if (pairs.delete(term) && pairs.size === 0) this.pairs.delete(character);
    }
  }
}

function addTo(docsOf: Map<string, Set<number>>, key: string, doc: number): void {
  const docs = docsOf.get(key) ?? new Set();
  docsOf.set(key, docs.add(doc));
}

function deleteFrom(docsOf: Map<string, Set<number>>, key: string, doc: number): void {
  const docs = docsOf.get(key);
  docs?.delete(doc);
  if (docs?.size === 0) docsOf.delete(key);
}

/** Reads a table in key order, one page at a time. `take` returns the key of a row. */
async function eachPage<Row, Key>(
  first: Key,
  read: (after: Key) => Promise<Row[]>,
  take: (row: Row) => Key,
): Promise<void> {
  let after = first;
  for (;;) {
    const rows = await read(after);
    const slice = createTimeSlice();
    for (const row of rows) {
      if (slice.isOver()) await slice.yieldToEventLoop();
      after = take(row);
    }
    if (rows.length < PAGE) return;
  }
}
