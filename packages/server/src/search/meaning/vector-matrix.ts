/**
 * All vectors of one embedder, in this process. An exact scan never misses a neighbor. Rows hold the vectors as stored;
 * the mean is removed arithmetically, so that it can change without touching them.
 */
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { shareCalls } from "../../platform/resilience/share-calls.ts";

export interface Neighbor {
  readonly doc: number;
  /** Cosine after the mean is removed from both. */
  readonly cosine: number;
}

export interface MatrixOptions {
  readonly dims: number;
  /**
   * The mean to remove while there are too few documents for their own mean; null: their own mean, as far as that few
   * documents justify it.
   */
  readonly shippedMean: Float32Array | null;
  /** Initial capacity. */
  readonly capacity?: number;
}

const CAPACITY_MIN = 256;
const GROWTH = 1.25;
const OWN_MEAN_FROM = 200;
const GROWTH_BEFORE_NEW_MEAN = 0.1;
const FILLED_MIN = 0.67;
/** A fifth of a millisecond at 400 numbers per row (2026-11). */
const ROWS_PER_PIECE = 1_000;

export class VectorMatrix {
  readonly dims: number;
  /** All vectors, one after another. */
  #rows: Float32Array;
  /** Document of each row; 0 for a deleted row. */
  #docs: Int32Array;
  /** 1 / length of (row - mean). */
  #scales: Float32Array;
  #rowCount = 0;
  readonly #rowOf = new Map<number, number>();
  readonly #sum: Float64Array;
  #mean: Mean;
  #meanCount = 0;
  readonly #hasShippedMean: boolean;

  constructor({ dims, shippedMean, capacity = 0 }: MatrixOptions) {
    const room = Math.max(CAPACITY_MIN, capacity);
    this.dims = dims;
    this.#hasShippedMean = shippedMean !== null;
    this.#mean = createMean(shippedMean ?? new Float32Array(dims));
    this.#rows = new Float32Array(room * dims);
    this.#docs = new Int32Array(room);
    this.#scales = new Float32Array(room);
    this.#sum = new Float64Array(dims);
  }

  get size(): number {
    return this.#rowOf.size;
  }

  /**
   * `vector` has unit length, or is all zeros for a document without meaning, which is never near. Throws unless it has
   * `dims` numbers.
   */
  set(doc: number, vector: Float32Array): void {
    if (vector.length !== this.dims)
      throw new RangeError(`A vector has ${vector.length} numbers instead of ${this.dims}.`);
    this.delete(doc);
    if (dot(vector, vector) === 0) return; // without the mean, it would be near whatever is far from the mean
    if (this.#rowCount === this.#docs.length) this.#grow();
    const row = this.#rowCount;
    this.#rowCount += 1;
    this.#rows.set(vector, row * this.dims);
    this.#docs[row] = doc;
    this.#rowOf.set(doc, row);
    this.#scales[row] = scaleOf(vector, this.#mean);
    this.#addToSum(vector, 1);
  }

  /** Only marks the row, so that a running scan stays valid. */
  delete(doc: number): void {
    const row = this.#rowOf.get(doc);
    if (row === undefined) return;
    this.#addToSum(this.#rowAt(row), -1);
    this.#docs[row] = 0;
    this.#rowOf.delete(doc);
  }

  has(doc: number): boolean {
    return this.#rowOf.has(doc);
  }

  docs(): Iterable<number> {
    return this.#rowOf.keys();
  }

  /** Recomputes the mean after the catalogue grew or shrank by a tenth, and packs the rows when a third are empty. */
  readonly settle = shareCalls(() => this.#renew());

  /** Meanwhile, scans continue with the old mean and its scales. */
  async #renew(): Promise<void> {
    if (this.#rowCount > CAPACITY_MIN && this.size < this.#rowCount * FILLED_MIN) await this.#pack();
    if (this.size === 0 || (this.#hasShippedMean && this.size < OWN_MEAN_FROM)) return;
    if (Math.abs(this.size - this.#meanCount) <= this.#meanCount * GROWTH_BEFORE_NEW_MEAN) return;
    const count = this.size;
    const share = count < OWN_MEAN_FROM ? this.#commonShare() : 1;
    const mean = createMean(Float32Array.from(this.#sum, (value) => (share * value) / count));
    const scales: number[] = [];
    for (let row = 0; row < this.#rowCount; row += 1) {
      if (row % ROWS_PER_PIECE === ROWS_PER_PIECE - 1) await yieldToEventLoop();
      scales.push(scaleOf(this.#rowAt(row), mean));
    }
    this.#meanCount = count;
    this.#mean = mean;
    this.#scales = new Float32Array(this.#docs.length);
    this.#scales.set(scales);
  }

  /** Finds the `limit` nearest documents to a vector of unit length, nearest first. */
  async findNearest(query: Float32Array, limit: number): Promise<Neighbor[]> {
    const centered = this.#center(query);
    if (centered === null) return [];
    const best = new BestRows(limit);
    const offset = dot(centered, this.#mean.vector);
    const rows = this.#rows; // packing replaces the arrays; this scan keeps the ones it started with
    const docs = this.#docs;
    const scales = this.#scales;
    const count = this.#rowCount;
    for (let row = 0; row < count; row += 1) {
      if (row % ROWS_PER_PIECE === 0) await yieldToEventLoop(); // also at the start: the caller has just planned the query
      const doc = docs[row] as number;
      if (doc !== 0) best.offer(doc, (dot(centered, rows, row * this.dims) - offset) * (scales[row] as number));
    }
    return best.sorted();
  }

  /** Scores the given documents, nearest first. Documents without a row are left out. */
  rank(query: Float32Array, docs: readonly number[]): Neighbor[] {
    const centered = this.#center(query);
    if (centered === null) return [];
    const offset = dot(centered, this.#mean.vector);
    return docs
      .flatMap((doc) => {
        const row = this.#rowOf.get(doc);
        if (row === undefined) return [];
        return { doc, cosine: (dot(centered, this.#rows, row * this.dims) - offset) * (this.#scales[row] as number) };
      })
      .sort((x, y) => y.cosine - x.cosine || x.doc - y.doc);
  }

  /** Adds `weight` times the document's vector to `sum`. */
  addTo(sum: Float32Array, doc: number, weight: number): void {
    const row = this.#rowOf.get(doc);
    if (row === undefined) return;
    for (const [k, value] of this.#rowAt(row).entries()) sum[k] = (sum[k] as number) + weight * value;
  }

  /**
   * How much of the mean of a few unit vectors is common to all of them, 0 to 1; the rest is chance. The mean cosine of
   * two different vectors estimates the squared length of the common part: it is 0 for well-spread vectors, whose mean
   * then stays. A few documents may also share a subject, so the fewer there are, the smaller the share.
   */
  #commonShare(): number {
    const n = this.size;
    if (n < 2) return 0;
    const squares = this.#sum.reduce((added, value) => added + value * value, 0);
    const meanCosine = (squares - n) / (n * (n - 1));
    return (Math.max(0, meanCosine) / (squares / n ** 2)) * (n / (n + 1));
  }

  #center(query: Float32Array): Float32Array | null {
    const centered = query.map((value, k) => value - (this.#mean.vector[k] as number));
    const length = Math.sqrt(dot(centered, centered));
    return length > 0 ? centered.map((value) => value / length) : null;
  }

  #addToSum(vector: Float32Array, sign: number): void {
    for (let k = 0; k < this.dims; k += 1) {
      this.#sum[k] = (this.#sum[k] as number) + sign * (vector[k] as number);
    }
  }

  #rowAt(row: number): Float32Array {
    return this.#rows.subarray(row * this.dims, (row + 1) * this.dims);
  }

  #grow(): void {
    const capacity = Math.ceil(this.#docs.length * GROWTH);
    this.#rows = resize(this.#rows, capacity * this.dims);
    this.#scales = resize(this.#scales, capacity);
    const docs = new Int32Array(capacity);
    docs.set(this.#docs);
    this.#docs = docs;
  }

  /** Rows may change while others are copied, so the documents of the rows are read at the end, in one step. */
  async #pack(): Promise<void> {
    let rows = new Float32Array(this.dims * Math.max(CAPACITY_MIN, this.size));
    const origins: number[] = [];
    for (let row = 0; row < this.#rowCount; row += 1) {
      if (row % ROWS_PER_PIECE === ROWS_PER_PIECE - 1) await yieldToEventLoop();
      if (this.#docs[row] === 0) continue;
      if (origins.length * this.dims === rows.length)
        rows = resize(rows, Math.ceil(origins.length * GROWTH) * this.dims);
      rows.set(this.#rowAt(row), origins.length * this.dims);
      origins.push(row);
    }
    const capacity = rows.length / this.dims;
    const docs = new Int32Array(capacity);
    const scales = new Float32Array(capacity);
    for (const [i, row] of origins.entries()) {
      const doc = this.#docs[row] as number;
      docs[i] = doc;
      scales[i] = this.#scales[row] as number;
      if (doc !== 0) this.#rowOf.set(doc, i);
    }
    this.#rows = rows;
    this.#scales = scales;
    this.#docs = docs;
    this.#rowCount = origins.length;
  }
}

interface Mean {
  readonly vector: Float32Array;
  /** Its squared length. */
  readonly squares: number;
}

function createMean(vector: Float32Array): Mean {
  return { vector, squares: dot(vector, vector) };
}

/**
 * The dot product of `vector` with the numbers from `start` on. Uses four sums, since a single one waits for each
 * addition.
 */
function dot(vector: Float32Array, numbers: Float32Array, start = 0): number {
  const whole = vector.length - (vector.length % 4);
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  for (let k = 0; k < whole; k += 4) {
    s0 += (vector[k] as number) * (numbers[start + k] as number);
    s1 += (vector[k + 1] as number) * (numbers[start + k + 1] as number);
    s2 += (vector[k + 2] as number) * (numbers[start + k + 2] as number);
    s3 += (vector[k + 3] as number) * (numbers[start + k + 3] as number);
  }
  for (let k = whole; k < vector.length; k += 1) s0 += (vector[k] as number) * (numbers[start + k] as number);
  return s0 + s1 + s2 + s3;
}

function resize(numbers: Float32Array, length: number): Float32Array<ArrayBuffer> {
  const larger = new Float32Array(length);
  larger.set(numbers);
  return larger;
}

/** From |vector - mean|^2 = |vector|^2 - 2 vector mean + |mean|^2: no second copy of the matrix is needed. */
function scaleOf(vector: Float32Array, mean: Mean): number {
  const squares = dot(vector, vector) - 2 * dot(vector, mean.vector) + mean.squares;
  return squares > 1e-9 ? 1 / Math.sqrt(squares) : 0;
}

/** Collects the best rows. It sorts only at the end, and drops the worst when it has grown to twice the limit. */
class BestRows {
  readonly #limit: number;
  #nearest: Neighbor[] = [];
  #least = Number.NEGATIVE_INFINITY;

  constructor(limit: number) {
    this.#limit = limit;
  }

  offer(doc: number, cosine: number): void {
    if (cosine <= this.#least) return;
    this.#nearest.push({ doc, cosine });
    if (this.#nearest.length >= 2 * this.#limit) {
      this.#nearest = this.sorted();
      this.#least = this.#nearest.at(-1)?.cosine ?? this.#least;
    }
  }

  sorted(): Neighbor[] {
    return this.#nearest.sort((x, y) => y.cosine - x.cosine || x.doc - y.doc).slice(0, this.#limit);
  }
}
