/** What the rest of search knows of an embeddings model that is asked over the network. */
import { createHash } from "node:crypto";
import { scaleToUnit } from "./built-in-embedder.ts";

export interface RemoteEmbedder {
  /** `provider/model`, as set by the operator. */
  readonly model: string;
  /** One vector for each text, in order. Rejects when the provider fails or `signal` fires. */
  readonly embedTexts: (texts: readonly string[], signal: AbortSignal) => Promise<readonly Float32Array[]>;
  /** What the model wants before a query and before a document, such as `query:`; a space is put behind it. */
  readonly queryPrefix?: string | null;
  readonly documentPrefix?: string | null;
}

export function withPrefix(prefix: string | null | undefined, text: string): string {
  return prefix ? `${prefix} ${text}` : text;
}

/** A model that answers vectors of another length than before is another embedder; who sees it first says so. */
export interface ModelLength {
  noteOther(): void;
  /** Whether it was noted since the last call. */
  takeOther(): boolean;
}

export function createModelLength(): ModelLength {
  let isOther = false;
  return {
    noteOther: () => {
      isOther = true;
    },
    takeOther: () => {
      const was = isOther;
      isOther = false;
      return was;
    },
  };
}

/** Raise it when documents are put to the model in another form: their vectors are then made anew. */
const INPUT_RECIPE_VERSION = 1;

const REMOTE = "remote-";

/** Vectors of different models, lengths or input forms are never compared, so each has a name of its own. */
export function remoteEmbedderId({ model, documentPrefix }: RemoteEmbedder, dims: number): string {
  const prefix = documentPrefix ? [documentPrefix] : [];
  const identity = JSON.stringify([model, dims, INPUT_RECIPE_VERSION, ...prefix]);
  return `${REMOTE}${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
}

export function isRemote(embedder: string): boolean {
  return embedder.startsWith(REMOTE);
}

/**
 * Checks an answer at the boundary and scales it to unit length: a NaN or a vector of another length, once stored,
 * would spoil every later ranking.
 * @throws Error that says what is wrong, without any content.
 */
export function acceptVectors(
  vectors: readonly Float32Array[],
  expected: { readonly count: number; readonly dims: number | null },
): Float32Array[] {
  if (vectors.length !== expected.count) {
    throw new Error(`The embeddings model answered ${vectors.length} vectors for ${expected.count} texts.`);
  }
  const dims = expected.dims ?? vectors[0]?.length ?? 0;
  return vectors.map((vector) => {
    if (vector.length !== dims || dims === 0) {
      throw new Error(`The embeddings model answered a vector of ${vector.length} numbers, expected ${dims}.`);
    }
    const unit = vector.every(Number.isFinite) ? scaleToUnit(vector) : null;
    if (unit === null) throw new Error("The embeddings model answered a vector that is not finite or has no length.");
    return unit;
  });
}
