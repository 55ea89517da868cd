/**
 * Truncated singular value decomposition of a sparse matrix by random projection (Halko, Martinsson, Tropp 2011,
 * algorithm 4.4). It uses only the four operations, square roots, and a seeded generator, in a fixed order, so the
 * same input gives the same bits on every machine.
 */

/** Rows in compressed form: row i holds columns[k], values[k] for starts[i] <= k < starts[i + 1]. */
export interface SparseMatrix {
  readonly rowCount: number;
  readonly columnCount: number;
  readonly starts: Uint32Array;
  readonly columns: Uint32Array;
  readonly values: Float64Array;
}

export interface Decomposition {
  /** Left singular vectors, one array of rowCount numbers per singular value. */
  readonly left: readonly Float64Array[];
  /** Singular values, largest first. */
  readonly singular: Float64Array;
}

export interface SvdOptions {
  readonly rank: number;
  readonly oversampling: number;
  readonly powerIterations: number;
  readonly seed: number;
}

type Columns = Float64Array[];

export function decompose(matrix: SparseMatrix, options: SvdOptions): Decomposition {
  const width = Math.min(options.rank + options.oversampling, matrix.rowCount, matrix.columnCount);
  const random = createNormalSource(options.seed);
  const start = Array.from({ length: width }, () => Float64Array.from({ length: matrix.columnCount }, random));
  let basis = orthonormalize(multiply(matrix, start));
  for (let i = 0; i < options.powerIterations; i += 1) {
    basis = orthonormalize(multiply(matrix, orthonormalize(multiplyTransposed(matrix, basis))));
  }
  const small = multiplyTransposed(matrix, basis);
  const { values, vectors } = eigenOfSymmetric(small.map((a) => Float64Array.from(small, (b) => dot(a, b))));
  const order = [...values.keys()].sort((a, b) => (values[b] as number) - (values[a] as number)).slice(0, options.rank);
  return {
    left: order.map((k) => combine(basis, vectors[k] as Float64Array)),
    singular: Float64Array.from(order, (k) => Math.sqrt(Math.max(0, values[k] as number))),
  };
}

function multiply(matrix: SparseMatrix, right: Columns): Columns {
  return right.map((column) => {
    const product = new Float64Array(matrix.rowCount);
    for (let row = 0; row < matrix.rowCount; row += 1) {
      let total = 0;
      for (let k = matrix.starts[row] as number; k < (matrix.starts[row + 1] as number); k += 1) {
        total += (matrix.values[k] as number) * (column[matrix.columns[k] as number] as number);
      }
      product[row] = total;
    }
    return product;
  });
}

function multiplyTransposed(matrix: SparseMatrix, right: Columns): Columns {
  return right.map((column) => {
    const product = new Float64Array(matrix.columnCount);
    for (let row = 0; row < matrix.rowCount; row += 1) {
      const factor = column[row] as number;
      for (let k = matrix.starts[row] as number; k < (matrix.starts[row + 1] as number); k += 1) {
        const at = matrix.columns[k] as number;
        product[at] = (product[at] as number) + factor * (matrix.values[k] as number);
      }
    }
    return product;
  });
}

/** Gram-Schmidt, twice per column: a single pass leaves rounding errors that the power iterations would amplify. */
function orthonormalize(columns: Columns): Columns {
  const done: Columns = [];
  for (const column of columns) {
    for (let pass = 0; pass < 2; pass += 1) {
      for (const other of done) subtractScaled(column, other, dot(column, other));
    }
    const norm = Math.sqrt(dot(column, column));
    if (norm > 1e-12) done.push(column.map((value) => value / norm));
  }
  return done;
}

export function dot(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let i = 0; i < a.length; i += 1) total += (a[i] as number) * (b[i] as number);
  return total;
}

function subtractScaled(target: Float64Array, other: Float64Array, factor: number): void {
  for (let i = 0; i < target.length; i += 1) target[i] = (target[i] as number) - factor * (other[i] as number);
}

function combine(columns: Columns, weights: Float64Array): Float64Array {
  const total = new Float64Array(columns[0]?.length ?? 0);
  for (const [i, column] of columns.entries()) subtractScaled(total, column, -(weights[i] as number));
  return total;
}

const JACOBI_SWEEPS_MAX = 30;
const JACOBI_TOLERANCE = 1e-20;

/** Jacobi's cyclic rotations. `vectors[k]` belongs to `values[k]`, in no particular order. Overwrites the input. */
function eigenOfSymmetric(matrix: Float64Array[]): { values: Float64Array; vectors: Float64Array[] } {
  const size = matrix.length;
  const vectors = Array.from({ length: size }, (_, i) =>
    Float64Array.from({ length: size }, (_v, j) => (i === j ? 1 : 0)),
  );
  const scale = sumOfSquares(matrix, () => true);
  for (let sweep = 0; sweep < JACOBI_SWEEPS_MAX; sweep += 1) {
    if (sumOfSquares(matrix, (i, j) => i !== j) <= JACOBI_TOLERANCE * scale) break;
    for (let p = 0; p < size - 1; p += 1) {
      for (let q = p + 1; q < size; q += 1) rotate(matrix, vectors, p, q);
    }
  }
  return { values: Float64Array.from(matrix, (row, i) => row[i] as number), vectors };
}

function sumOfSquares(matrix: Float64Array[], counts: (i: number, j: number) => boolean): number {
  let total = 0;
  for (const [i, row] of matrix.entries()) {
    for (const [j, value] of row.entries()) if (counts(i, j)) total += value * value;
  }
  return total;
}

function rotate(matrix: Float64Array[], vectors: Float64Array[], p: number, q: number): void {
  const rowP = matrix[p] as Float64Array;
  const rowQ = matrix[q] as Float64Array;
  const off = rowP[q] as number;
  if (off === 0) return;
  const theta = ((rowQ[q] as number) - (rowP[p] as number)) / (2 * off);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (const row of matrix) {
    const a = row[p] as number;
    const b = row[q] as number;
    row[p] = c * a - s * b;
    row[q] = s * a + c * b;
  }
  turn(rowP, rowQ, c, s);
  turn(vectors[p] as Float64Array, vectors[q] as Float64Array, c, s);
}

function turn(p: Float64Array, q: Float64Array, c: number, s: number): void {
  for (let i = 0; i < p.length; i += 1) {
    const a = p[i] as number;
    const b = q[i] as number;
    p[i] = c * a - s * b;
    q[i] = s * a + c * b;
  }
}

/** Nearly normal numbers: the sum of twelve uniform ones (mulberry32) minus six. The tails do not matter here. */
function createNormalSource(seed: number): () => number {
  let state = seed >>> 0;
  const even = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return () => {
    let total = -6;
    for (let i = 0; i < 12; i += 1) total += even();
    return total;
  };
}
