import { DeadlineError, withDeadline } from "../../platform/resilience/deadline.ts";
import { failure, type CallFailure } from "../providers/failure.ts";

export const TIMED_OUT = failure("timeout", { retry: "never", breaker: "counted" });

/**
 * Runs work under its own time limit. Reaching the limit returns TIMED_OUT, whatever the work throws after that. If the
 * outer signal aborts, this rejects with its reason.
 */
export async function withinTime<Result>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | CallFailure> {
  let isOver = false;
  const end = (): Error => {
    isOver = true;
    return new DeadlineError(`A model call took longer than ${ms} ms.`);
  };
  try {
    return await withDeadline(ms, work, { signal, error: end });
  } catch (error) {
    signal.throwIfAborted();
    if (isOver) return TIMED_OUT;
    throw error;
  }
}
