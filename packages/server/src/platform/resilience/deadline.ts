import { setTimeout as wait } from "node:timers/promises";
import { createContext, Script } from "node:vm";

/** The largest delay that a timer supports; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Work took longer than its time limit. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** Pauses. Rejects with the signal's reason, where Node's timer would reject with its own error. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await wait(Math.min(ms, TIMER_MS_MAX), undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/**
 * Runs work under a time limit: its signal aborts with `error` at the limit, or together with the outer signal and for
 * the same reason. The work decides when it ends; wrap work that may ignore its signal in `orAborted`.
 */
export async function withDeadline<Result>(
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
  { signal: outer, error }: { readonly signal?: AbortSignal | undefined; readonly error?: () => Error } = {},
): Promise<Result> {
  const own = new AbortController();
  const timer = startTimer(ms, () => own.abort(error?.() ?? new DeadlineError(`The time limit of ${ms} ms passed.`)));
  const follow = (): void => own.abort(outer?.reason);
  if (outer?.aborted === true) follow();
  else outer?.addEventListener("abort", follow, { once: true });
  try {
    return await work(own.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", follow);
  }
}

/**
 * Returns the work's result, or throws the signal's reason as soon as it aborts, even if the work ignores its signal.
 */
export async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
    work.catch(() => {}); // after an abort nobody waits for the work
  }
}

/** Waits until all promises are settled, but at most `ms`. Never rejects. @returns false if the time passed first. */
export async function settleWithin(promises: Iterable<Promise<unknown>>, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = startTimer(ms, () => resolve(false));
  try {
    return await Promise.race([Promise.allSettled(promises).then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

const CALL = new Script("work()");
let calls: { work?: () => unknown } | null = null;

/**
 * Runs synchronous work under a limit of processor time, during which no timer could fire. Node itself interrupts the
 * work, but measures the time that passes, so work that the machine did not let run starts over and gets more of it.
 * So the work must have nothing to clean up, and must compute, not wait. Costs 0.2 ms per call (2026-11-28).
 * @throws DeadlineError
 */
export function runWithin<Result>(ms: number, work: () => Result): Result {
  calls ??= createContext({});
  calls.work = work;
  const start = readProcessorMs();
  for (let timeout = ms; ; timeout *= 2) {
    try {
      return CALL.runInContext(calls, { timeout }) as Result;
    } catch (error) {
      // The Error belongs to the other context, so instanceof does not recognize it.
      if ((error as { readonly code?: unknown } | null)?.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      if (readProcessorMs() - start < ms / 2) continue;
      throw new DeadlineError(`The time limit of ${ms} ms passed.`, { cause: error });
    }
  }
}

/** Of this thread; before Node 23.9, of the process. */
function readProcessorMs(): number {
  const clock: Partial<Pick<NodeJS.Process, "threadCpuUsage">> = process;
  const { user, system } = clock.threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1_000;
}

interface PollOptions {
  readonly everyMs: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks at least once, and again until the answer is not null. @returns null if the time passed first.
 * @throws the signal's reason if it aborts.
 */
export async function pollUntil<Result>(
  ask: () => Promise<Result | null>,
  options: PollOptions,
): Promise<Result | null> {
  const untilMs = performance.now() + options.timeoutMs;
  do {
    const answer = await ask();
    if (answer !== null) return answer;
    await sleep(options.everyMs, options.signal);
  } while (performance.now() < untilMs);
  return null;
}

function startTimer(ms: number, onEnd: () => void): NodeJS.Timeout {
  return setTimeout(onEnd, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
}
