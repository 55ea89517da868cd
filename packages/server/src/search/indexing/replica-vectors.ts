/**
 * The vectors that this process has in memory. Changes are applied at once. A whole embedder is read, and its mean
 * recomputed, in the background, while queries use the previous state; a catalogue of one page is read directly.
 */
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { Queryable } from "../../platform/database/database.ts";
import { copyVector, listVectorsOf } from "./embeddings-store.ts";
import { createTimeSlice } from "../../platform/time-slice.ts";
import { VectorMatrix, type MatrixOptions } from "../meaning/vector-matrix.ts";

/** An embedder whose vectors this process needs in memory. */
export interface ReplicatedEmbedder extends MatrixOptions {
  readonly embedder: string;
}

interface Coming {
  readonly matrix: VectorMatrix;
  readonly read: Promise<void>;
  state: "reading" | "whole" | "failed";
}

type Documents = Pick<ReadonlyMap<number, unknown>, "has" | "keys" | "size">;

const PAGE = 1_000;

export class ReplicaVectors {
  readonly #db: Queryable;
  readonly #documents: Documents;
  readonly #loaded: Map<string, VectorMatrix>;
  readonly #loading = new Map<string, Coming>();
  /** The last copied vector; a matrix copies it again. */
  #row = new Float32Array();

  /**
   * `before`: vectors of the copy that this one replaces. A document's vector never changes, so they are not read
   * again.
   */
  constructor(db: Queryable, documents: Documents, before: ReplicaVectors | null) {
    this.#db = db;
    this.#documents = documents;
    this.#loaded = new Map(before === null ? [] : before.#loaded);
  }

  of(embedder: string): VectorMatrix | null {
    return this.#loaded.get(embedder) ?? null;
  }

  delete(doc: number): void {
    for (const [, matrix] of this.#all()) matrix.delete(doc);
  }

  /** Reads the vectors of new or changed documents. */
  async read(docs: readonly number[]): Promise<void> {
    for (const [embedder, matrix] of this.#all()) await this.#readInto(matrix, embedder, docs);
  }

  /** After the documents were reloaded: drops vectors of documents that are gone, and reads missing ones. */
  async follow(): Promise<void> {
    for (const [embedder, matrix] of this.#loaded) {
      for (const doc of matrix.docs()) if (!this.#documents.has(doc)) matrix.delete(doc);
      await this.#fill(matrix, embedder, () => true);
    }
  }

  /**
   * Makes sure that the vectors of exactly these embedders are in memory. False while some are still being read; until
   * then the previous ones stay. `isFirst`: no query can be answered before they are loaded.
   */
  async load(choices: readonly ReplicatedEmbedder[], isFirst: boolean): Promise<boolean> {
    for (const choice of choices) if (!this.#loaded.has(choice.embedder)) this.#begin(choice);
    for (const { read } of this.#loading.values()) if (isFirst || this.#isSmall()) await read;
    for (const [embedder, { matrix, state }] of this.#loading) {
      if (state === "whole") this.#loaded.set(embedder, matrix);
      if (state !== "reading") this.#loading.delete(embedder);
    }
    const wanted = new Set(choices.map(({ embedder }) => embedder));
    for (const embedder of this.#loading.keys()) if (!wanted.has(embedder)) this.#loading.delete(embedder);
    if (![...wanted].every((embedder) => this.#loaded.has(embedder))) return false;
    for (const embedder of this.#loaded.keys()) if (!wanted.has(embedder)) this.#loaded.delete(embedder);
    return true;
  }

  /** Recomputes means, and waits only for small matrices. */
  async settle(): Promise<void> {
    const settling = [...this.#loaded.values()].map((matrix) => matrix.settle());
    if (this.#isSmall()) await Promise.all(settling);
  }

  #isSmall(): boolean {
    return this.#documents.size <= PAGE;
  }

  *#all(): Iterable<readonly [embedder: string, matrix: VectorMatrix]> {
    yield* this.#loaded;
    for (const [embedder, { matrix }] of this.#loading) yield [embedder, matrix];
  }

  #begin(choice: ReplicatedEmbedder): void {
    if (this.#loading.has(choice.embedder)) return;
    const matrix = new VectorMatrix({ ...choice, capacity: this.#documents.size });
    const isWanted = () => this.#loading.get(choice.embedder)?.matrix === matrix;
    const read = async () => {
      try {
        await this.#fill(matrix, choice.embedder, isWanted);
        await matrix.settle();
        coming.state = "whole";
      } catch {
        coming.state = "failed"; // the next poll starts over, and itself fails while the database is unavailable
      }
    };
    const coming: Coming = { matrix, state: "reading", read: yieldToEventLoop().then(read) };
    this.#loading.set(choice.embedder, coming);
  }

  async #fill(matrix: VectorMatrix, embedder: string, isWanted: () => boolean): Promise<void> {
    const missing = [...this.#documents.keys()].filter((doc) => !matrix.has(doc));
    for (let i = 0; i < missing.length && isWanted(); i += PAGE) {
      await this.#readInto(matrix, embedder, missing.slice(i, i + PAGE));
    }
  }

  async #readInto(matrix: VectorMatrix, embedder: string, docs: readonly number[]): Promise<void> {
    if (docs.length === 0) return;
    const rows = await listVectorsOf(this.#db, embedder, docs);
    const slice = createTimeSlice();
    for (const { doc, vec } of rows) {
      if (slice.isOver()) await slice.yieldToEventLoop();
      if (!this.#documents.has(doc)) continue; // removed since it was read
      const vector = vec.byteLength === this.#row.byteLength ? this.#row : new Float32Array(vec.byteLength / 4);
      copyVector(vec, vector);
      matrix.set(doc, vector);
      this.#row = vector;
    }
  }
}
