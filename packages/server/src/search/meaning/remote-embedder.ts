/** What the rest of search knows about an embeddings model that is called over the network. */
import { createHash } from "node:crypto";
import { scaleToUnit } from "./built-in-embedder.ts";

export interface RemoteEmbedder {
  /** `provider/model`, as configured by the operator. */
  readonly model: string;
  /** Returns one vector per text, in order. Rejects when the provider fails or `signal` fires. */
  readonly embedTexts: (texts: readonly string[], signal: AbortSignal) => Promise<readonly Float32Array[]>;
  /** Prefixes that the model expects before queries and documents, such as `query:`. A space is added after them. */
  readonly queryPrefix?: string | null;
  readonly documentPrefix?: string | null;
}

export function withPrefix(prefix: string | null | undefined, text: string): string {
  return prefix ? `${prefix} ${text}` : text;
}

/** A model that returns vectors of a new length is another embedder. The query that notices it first notes it here. */
export interface ModelLength {
  noteOther(): void;
  /** Whether a new length was noted since the last call. */
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

/** Raise it when the form in which documents are sent to the model changes, so that their vectors are recomputed. */
const INPUT_RECIPE_VERSION = 1;

const REMOTE = "remote-";

/** Vectors of different models, lengths, or input forms are never compared, so each combination has its own name. */
export function remoteEmbedderId({ model, documentPrefix }: RemoteEmbedder, dims: number): string {
  const prefix = documentPrefix ? [documentPrefix] : [];
  const identity = JSON.stringify([model, dims, INPUT_RECIPE_VERSION, ...prefix]);
  return `${REMOTE}${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
}

export function isRemote(embedder: string): boolean {
  return embedder.startsWith(REMOTE);
}

/**
 * Checks the model's vectors and scales them to unit length: a stored NaN, or a vector of another length, would spoil
 * every later ranking.
 * @throws Error that says what is wrong, without any content.
 */
export function acceptVectors(
  vectors: readonly Float32Array[],
  expected: { readonly count: number; readonly dims: number | null },
): Float32Array[] {
  if (vectors.length !== expected.count) {
    throw new Error(`The embeddings model returned ${vectors.length} vectors for ${expected.count} texts.`);
  }
  const dims = expected.dims ?? vectors[0]?.length ?? 0;
  return vectors.map((vector) => {
    if (vector.length !== dims || dims === 0) {
      throw new Error(`The embeddings model returned a vector of ${vector.length} numbers, expected ${dims}.`);
    }
    const unit = vector.every(Number.isFinite) ? scaleToUnit(vector) : null;
    if (unit === null) throw new Error("The embeddings model returned a vector that is not finite or has zero length.");
    return unit;
  });
}
