/** How many letters must be added, left out or replaced to make one text the other (Levenshtein). */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + change));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Two letters in the wrong order are two changes; more changes make another name. */
export const SLIPS_MAX = 2;

/** The known name that is most like the one typed; null: none is like it. */
export function nearestName(typed: string, known: readonly string[]): string | null {
  const name = typed.toLowerCase();
  const near = known
    .map((one) => ({ one, distance: editDistance(name, one) }))
    .filter(({ distance }) => distance <= SLIPS_MAX)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.one ?? null;
}
