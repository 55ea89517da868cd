/**
 * The vectors that this process holds. What changed is taken over at once; a whole embedder is read, and its mean
 * renewed, beside the queries, which go on with what was held before. Only a catalogue of one page is not worth that.
 */
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { Queryable } from "../../platform/database/database.ts";
import { copyVector, listVectorsOf } from "./embeddings-store.ts";
import { createTimeSlice } from "../../platform/time-slice.ts";
import { VectorMatrix, type MatrixOptions } from "../meaning/vector-matrix.ts";

/** An embedder whose vectors this process wants at hand. */
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
  /** Whatever was copied last; a matrix copies it again. */
  #row = new Float32Array();

  /** `before`: of the copy that this one replaces. A document's vector never changes, so those are not read again. */
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

  /** Reads the vectors of documents that came or changed. */
  async read(docs: readonly number[]): Promise<void> {
    for (const [embedder, matrix] of this.#all()) await this.#readInto(matrix, embedder, docs);
  }

  /** After the documents were read anew: forgets those that are gone, and reads what is missing. */
  async follow(): Promise<void> {
    for (const [embedder, matrix] of this.#loaded) {
      for (const doc of matrix.docs()) if (!this.#documents.has(doc)) matrix.delete(doc);
      await this.#fill(matrix, embedder, () => true);
    }
  }

  /**
   * Sees to it that these are held, and no others. False while one of them is still being read; until then those that
   * were held before stay. `isFirst`: nobody can be answered before they are there.
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

  /** Renews means; only that of a small matrix is waited for. */
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
        coming.state = "failed"; // the next look begins again, and fails itself while the database is away
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
    const rows = await listVectorsOf(this.#db, embedder, docs);
    const slice = createTimeSlice();
    for (const { doc, vec } of rows) {
      if (slice.isOver()) await slice.yieldToEventLoop();
      if (!this.#documents.has(doc)) continue; // taken out since it was read
      const vector = vec.byteLength === this.#row.byteLength ? this.#row : new Float32Array(vec.byteLength / 4);
      copyVector(vec, vector);
      matrix.set(doc, vector);
      this.#row = vector;
    }
  }
}
