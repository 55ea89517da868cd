import { setImmediate } from "node:timers";

export interface BatcherOptions<Item, Result> {
  /** @returns a result for each item, in the same order. If it throws, every caller in the batch gets the error. */
  readonly send: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** The most items in one batch. */
  readonly max: number;
  /**
   * Up to twice this many items go in two alternating batches: the sender prepares one while the other is in flight.
   */
  readonly alternate?: number;
  /** While this many batches are in flight, the next one grows. */
  readonly inFlightMax: number;
}

interface Waiter<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines the requests of one event loop iteration into a batch. A waiting batch is sent before the results of the
 * last one are passed on. Results are not cached.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { max, alternate = max } = options;
  const waiting: Waiter<Item, Result>[] = [];
  let inFlight = 0;
  let isScheduled = false;

  function takeBatch(): Waiter<Item, Result>[] {
    return waiting.splice(0, waiting.length > 2 * alternate ? max : alternate);
  }

  function schedule(): void {
    if (isScheduled || inFlight >= options.inFlightMax || waiting.length === 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      void sendBatch(takeBatch());
      schedule();
    });
  }

  async function sendBatch(batch: readonly Waiter<Item, Result>[]): Promise<void> {
    inFlight += 1;
    const answer = await answerOf(batch, options.send);
    inFlight -= 1;
    if (waiting.length === 0) return answer();
    if (!isScheduled) void sendBatch(takeBatch());
    schedule();
    setImmediate(answer); // callers react to results, which takes time and would delay the next batch
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}

/** @returns a function that passes the outcome to every caller in the batch. */
async function answerOf<Item, Result>(
  batch: readonly Waiter<Item, Result>[],
  send: BatcherOptions<Item, Result>["send"],
): Promise<() => void> {
  try {
    const results = await send(batch.map(({ item }) => item));
    return () => {
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Result);
    };
  } catch (error) {
    return () => {
      for (const { reject } of batch) reject(error);
    };
  }
}
