import type { SlicedWork } from "../../platform/time-slice.ts";

export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/**
 * Maximum size of the table below. With more than two thousand changed lines on each side, everything in between counts
 * as changed.
 */
const CELLS_MAX = 4_000_000;
/** For all texts of a prompt. A prompt file of a mebibyte may have 250 texts with two thousand lines each. */
const PROMPT_CELLS_MAX = 5 * CELLS_MAX;

/** How many cells the tables of a prompt's next texts may have. */
export interface DiffBudget {
  cellsLeft: number;
}

export function newDiffBudget(): DiffBudget {
  return { cellsLeft: PROMPT_CELLS_MAX };
}

/** Compares two texts line by line, with as few changes as possible. */
export function* diffLines(before: string, after: string, budget: DiffBudget): SlicedWork<DiffLine[]> {
  const [left, right] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(left.length, right.length) - head && left.at(-1 - tail) === right.at(-1 - tail)) tail += 1;
  return [
    ...left.slice(0, head).map(same),
    ...(yield* diffMiddle(left.slice(head, left.length - tail), right.slice(head, right.length - tail), budget)),
    ...left.slice(left.length - tail).map(same),
  ];
}

const same = (text: string): DiffLine => ({ kind: "same", text });
const removed = (text: string): DiffLine => ({ kind: "removed", text });
const added = (text: string): DiffLine => ({ kind: "added", text });

function* diffMiddle(left: readonly string[], right: readonly string[], budget: DiffBudget): SlicedWork<DiffLine[]> {
  const cells = left.length * right.length;
  if (cells > Math.min(CELLS_MAX, budget.cellsLeft)) return [...left.map(removed), ...right.map(added)];
  budget.cellsLeft -= cells;
  const lengths = yield* commonLengths(left, right);
  const at = (row: number, column: number) => lengths[row * (right.length + 1) + column] ?? 0;
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < left.length && column < right.length) {
    const [a = "", b = ""] = [left[row], right[column]];
    if (a === b) {
      lines.push(same(a));
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      lines.push(removed(a));
      row += 1;
    } else {
      lines.push(added(b));
      column += 1;
    }
  }
  return [...lines, ...left.slice(row).map(removed), ...right.slice(column).map(added)];
}

/** Length of the longest common subsequence of what follows each pair of lines. */
function* commonLengths(left: readonly string[], right: readonly string[]): SlicedWork<Uint32Array> {
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      const skip = Math.max(lengths[(row + 1) * width + column] ?? 0, lengths[row * width + column + 1] ?? 0);
      const isSame = left[row] === right[column];
      lengths[row * width + column] = isSame ? (lengths[(row + 1) * width + column + 1] ?? 0) + 1 : skip;
    }
    yield;
  }
  return lengths;
}
