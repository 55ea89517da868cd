/** The last step of a ranking: prompts of equal score in an order that a reader can explain and that never changes. */

interface Popularity {
  readonly uses: number;
  readonly upVotes: number;
}

export type PopularityOf = (promptIds: readonly string[]) => Promise<ReadonlyMap<string, Popularity>>;

export interface ScoredPrompt {
  readonly promptId: string;
  readonly score: number;
}

/**
 * The ids of the first `limit`. Popularity is asked for only where scores are equal: it decides between equals and
 * lifts nothing over a better match.
 */
export async function orderPrompts(
  ranked: readonly ScoredPrompt[],
  limit: number,
  popularityOf: PopularityOf | undefined,
): Promise<string[]> {
  const last = ranked[limit - 1]?.score ?? Number.NEGATIVE_INFINITY;
  const candidates = ranked.filter(({ score }) => score >= last);
  const tied = candidates.filter(
    ({ score }, i) => score === candidates[i - 1]?.score || score === candidates[i + 1]?.score,
  );
  const popularity =
    tied.length === 0 || popularityOf === undefined ? null : await popularityOf(tied.map(({ promptId }) => promptId));
  const known = (promptId: string) => popularity?.get(promptId) ?? { uses: 0, upVotes: 0 };
  return [...candidates]
    .sort((a, b) => {
      const [x, y] = [known(a.promptId), known(b.promptId)];
      return b.score - a.score || y.uses - x.uses || y.upVotes - x.upVotes || (a.promptId < b.promptId ? -1 : 1);
    })
    .slice(0, limit)
    .map(({ promptId }) => promptId);
}
