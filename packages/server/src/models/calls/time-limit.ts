import { DeadlineError, withDeadline } from "../../platform/resilience/deadline.ts";
import { failure, type CallFailure } from "../providers/failure.ts";

export const TIMED_OUT = failure("timeout", { retry: "never", breaker: "counted" });

/** Work under a time limit of its own: the limit's end is a value, the outer signal's abort an exception. */
export async function withinTime<Result>(
  ms: number,
  signal: AbortSignal,
  work: (own: AbortSignal) => Promise<Result>,
): Promise<Result | CallFailure> {
  let own = signal;
  try {
    return await withDeadline(ms, (limited) => work((own = limited)), { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (own.reason instanceof DeadlineError) return TIMED_OUT;
    throw error;
  }
}
