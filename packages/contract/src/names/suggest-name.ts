/** For names that are much alike, such as emails: with more typos, it is probably another name. */
export const SLIPS_MAX = 2;

/** The known name closest to what was typed, if it is close enough to be a typo; otherwise null. */
export function suggestName(
  typed: string,
  known: readonly string[],
  limit = Math.max(1, Math.floor(typed.length / 3)),
): string | null {
  let best: string | null = null;
  let bestDistance = limit + 1;
  for (const name of known) {
    // Names differ by at least the difference of their lengths, and a caller's name can have any length.
    if (Math.abs(typed.length - name.length) >= bestDistance) continue;
    const distance = editDistance(typed, name);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein distance that counts two swapped neighboring letters as one typo ("serach"). */
export function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwap = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      current.push(isSwap && row > 1 && column > 1 ? Math.min(cost, at(beforeLast, column - 2) + 1) : cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
