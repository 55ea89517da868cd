import { setImmediate } from "node:timers";

export interface BatcherOptions<Item, Result> {
  /** @returns a result for each item, in the same order. What it throws is thrown to all that asked. */
  readonly send: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Items of one batch. */
  readonly max: number;
  /** Up to twice so many go in two batches, which alternate: who sends works on one while the other is under way. */
  readonly alternate?: number;
  /** While so many batches are under way, the next one grows. */
  readonly inFlightMax: number;
}

interface Waiter<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * What is asked for in one iteration of the event loop goes together, and a batch that waited is sent before the answers of the
 * last one are passed on. Nothing is remembered: each batch is asked anew.
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
    setImmediate(answer); // what answers lead to takes long, and would keep the next batch from being written
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}

/** @returns what tells everybody of a batch how it ended. */
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
