/**
 * Long work in pieces. The event loop belongs to the whole process, so whoever works through many of anything asks
 * between two of them whether its turn is over, and then lets all others have theirs.
 */
export interface Turns {
  isOver(): boolean;
  /** Resolves when this work's next turn begins. */
  next(): Promise<void>;
}

/** Short beside the 5 ms that a query may hold the process, for the piece that is begun last counts as well. */
const TURN_MS = 1;

export function createTurns(): Turns {
  let endsAtMs = performance.now() + TURN_MS;
  return {
    isOver: () => performance.now() >= endsAtMs,
    next: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      endsAtMs = performance.now() + TURN_MS;
    },
  };
}

/** The results in order. A batch of documents is a seventh of a second of work: others get their turns in between. */
export async function eachInTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result,
): Promise<Result[]> {
  const turns = createTurns();
  const results: Result[] = [];
  for (const item of items) {
    results.push(work(item));
    if (turns.isOver()) await turns.next();
  }
  return results;
}
