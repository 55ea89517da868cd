/**
 * Decides how much of the meaning score comes from the embeddings model; the rest comes from the built-in vectors. The
 * quality of an operator's model is unknown. But if it understands texts, the prompts nearest to a prompt are often the
 * same as with the built-in vectors.
 */
import type { VectorMatrix } from "../meaning/vector-matrix.ts";

/**
 * Measured 2026-11-23 with weak embedders (letters, noise, and noise on the built-in vectors): a share of 0.3 costs no
 * class more than .011, except paraphrases, at most .03; a half costs up to .12, and the model alone .25.
 */
const SHARE = { min: 0.3, max: 0.5 };
/** The agreement of hashed letters is 0.18, and of noise on the built-in vectors 0.2 to 0.7. */
const AGREEMENT = { weak: 0.2, strong: 0.45 };
const SAMPLE = 50;
const NEAREST = 10;
/** With fewer prompts, agreement is chance. */
const DOCUMENTS_MIN = 200;
const GROWTH_BEFORE_NEW = 0.1;

/** From 0 to 1. The minimum share until the agreement is known, which is measured in the background. */
export type EmbeddingWeight = (model: VectorMatrix, builtIn: VectorMatrix) => number;

interface Measured {
  readonly documents: number;
  share: number;
}

export function createEmbeddingWeight(): EmbeddingWeight {
  const measured = new WeakMap<VectorMatrix, Measured>();
  return (model, builtIn) => {
    const known = measured.get(model);
    const growth = Math.abs(model.size - (known?.documents ?? 0));
    if (known !== undefined && growth <= known.documents * GROWTH_BEFORE_NEW) return known.share;
    const next: Measured = { documents: model.size, share: known?.share ?? SHARE.min };
    measured.set(model, next);
    void measureAgreement(model, builtIn).then((agreement) => (next.share = weightFor(agreement)));
    return next.share;
  };
}

export function weightFor(agreement: number): number {
  const strength = (agreement - AGREEMENT.weak) / (AGREEMENT.strong - AGREEMENT.weak);
  return SHARE.min + (SHARE.max - SHARE.min) * Math.max(0, Math.min(1, strength));
}

/** The mean share, 0 to 1, of a prompt's ten nearest prompts that are the same for both embedders. */
export async function measureAgreement(a: VectorMatrix, b: VectorMatrix): Promise<number> {
  const docs = [...a.docs()].filter((doc) => b.has(doc));
  if (docs.length < DOCUMENTS_MIN) return 0;
  let sum = 0;
  for (let i = 0; i < SAMPLE; i += 1) {
    const doc = docs[Math.floor(((i + 0.5) * docs.length) / SAMPLE)] as number;
    const [near, alsoNear] = [await neighborsOf(doc, a), await neighborsOf(doc, b)];
    sum += [...near].filter((other) => alsoNear.has(other)).length / NEAREST;
  }
  return sum / SAMPLE;
}

async function neighborsOf(doc: number, matrix: VectorMatrix): Promise<Set<number>> {
  const vector = new Float32Array(matrix.dims);
  matrix.addTo(vector, doc, 1);
  const nearest = await matrix.findNearest(vector, NEAREST + 1);
  return new Set(
    nearest
      .map((found) => found.doc)
      .filter((other) => other !== doc)
      .slice(0, NEAREST),
  );
}
