/** Measures of a ranking against graded judgments, and how sure a difference of two systems is. */

export type Grades = Readonly<Record<string, number>>;

export interface Scores {
  readonly ndcg: number;
  readonly mrr: number;
  readonly recall: number;
}

const DEPTH = 10;
/** Reciprocal rank and recall count these grades. */
const RELEVANT_GRADE = 2;

/** nDCG@10 with gain 2^grade - 1; MRR@10 and recall@10 over grades of 2 and more, recall over at most 10 of them. */
export function scoreRanking(ranking: readonly string[], grades: Grades): Scores {
  const top = ranking.slice(0, DEPTH).map((id) => grades[id] ?? 0);
  const ideal = Object.values(grades)
    .sort((a, b) => b - a)
    .slice(0, DEPTH);
  const relevant = Object.values(grades).filter((grade) => grade >= RELEVANT_GRADE).length;
  const first = top.findIndex((grade) => grade >= RELEVANT_GRADE);
  const found = top.filter((grade) => grade >= RELEVANT_GRADE).length;
  return {
    ndcg: ideal.length === 0 ? 0 : discountedGain(top) / discountedGain(ideal),
    mrr: first < 0 ? 0 : 1 / (first + 1),
    recall: relevant === 0 ? 0 : found / Math.min(DEPTH, relevant),
  };
}

function discountedGain(grades: readonly number[]): number {
  return grades.reduce((sum, grade, i) => sum + (2 ** grade - 1) / Math.log2(i + 2), 0);
}

export function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

const RESAMPLES = 10_000;

/** The 95 % interval of the mean difference a - b over the same queries (paired bootstrap, always the same draws). */
export function bootstrapInterval(a: readonly number[], b: readonly number[]): [low: number, high: number] {
  const differences = a.map((value, i) => value - (b[i] ?? 0));
  let state = 1;
  const draw = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return differences[Math.floor((state / 2 ** 32) * differences.length)] ?? 0;
  };
  const means = Array.from({ length: RESAMPLES }, () => meanOf(differences.map(draw))).sort((x, y) => x - y);
  return [means[Math.floor(RESAMPLES * 0.025)] ?? 0, means[Math.floor(RESAMPLES * 0.975)] ?? 0];
}

/** The value below which the share `p` of all lies. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;
}
