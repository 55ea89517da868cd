/** Splits long work into slices: the whole process shares the event loop, so other work runs between two slices. */
export interface TimeSlice {
  isOver(): boolean;
  /** Lets other work of the process run, then starts the next slice. */
  yieldToEventLoop(): Promise<void>;
}

/** Far below the 5 ms for which a query may block the event loop, since the item in progress is still finished. */
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

/** Long work that yields wherever other work of the process may run. */
export type SlicedWork<Result> = Generator<undefined, Result, undefined>;

/** Runs work to its end while nothing else waits for the process, as in a command. */
export function runAtOnce<Result>(work: SlicedWork<Result>): Result {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

export async function runInSlices<Result>(work: SlicedWork<Result>): Promise<Result> {
  const slice = createTimeSlice();
  let step = work.next();
  while (step.done !== true) {
    if (slice.isOver()) await slice.yieldToEventLoop();
    step = work.next();
  }
  return step.value;
}

/** Maps items and returns the results in order. A batch of documents takes 140 ms, so this yields between items. */
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
