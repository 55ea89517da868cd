/** Long work in slices: the event loop belongs to the whole process, so other work runs between two of them. */
export interface TimeSlice {
  isOver(): boolean;
  /** Lets other work of the process run, then begins the next slice. */
  yieldToEventLoop(): Promise<void>;
}

/** Short beside the 5 ms that a query may hold the event loop: the item in progress still comes on top. */
const SLICE_MS = 1;

export function createTimeSlice(): TimeSlice {
  let endsAtMs = performance.now() + SLICE_MS;
  return {
    isOver: () => performance.now() >= endsAtMs,
    yieldToEventLoop: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      endsAtMs = performance.now() + SLICE_MS;
    },
  };
}

/** The results in order. A batch of documents takes a seventh of a second, so it yields between them. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const slice = createTimeSlice();
  const results: Result[] = [];
  for (const [index, item] of items.entries()) {
    results.push(work(item, index));
    if (slice.isOver()) await slice.yieldToEventLoop();
  }
  return results;
}
