/**
 * Commits the transactions that create runs, and finds out whether they were committed. Only this file handles lost
 * connections, accounts locked by others, and unknown outcomes. The statements are in runs/sql.
 */
import type { TxOptions } from "../../platform/database/database.ts";
import { isConnectionLoss, isRolledBack, isStandby, DatabaseUnresponsive } from "../../platform/database/errors.ts";
import { codeOf } from "../../platform/reason-of.ts";
import { Problem } from "../../platform/problem.ts";
import { retry } from "../../platform/resilience/retry.ts";
import type { AccountLockQueue } from "./account-lock-queue.ts";

export interface CommitOptions {
  readonly accountLocks: AccountLockQueue;
  /** Whether it was sent before with an unknown outcome. */
  readonly isUnknown?: boolean;
}

const TOO_MANY_CONNECTIONS = "53300";
/** A restarting database is usually back within about two seconds; a caller should not wait much longer for a 500. */
const OUTAGE_MS_MAX = 5_000;
const OUTAGE_BACKOFF = { baseMs: 50, capMs: 500 };

/** The connection was lost, and it could not be determined whether the commit succeeded. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/**
 * Calls `commit`, a single transaction that must find its runs if they already exist: after a lost connection the
 * outcome is unknown, and the same ids are sent again. Resolves or throws only once the outcome is known, or declared
 * unknown.
 * @throws the last error of `commit`, or OutcomeUnknown with it as its cause.
 */
export async function commitOnce<Outcome>(
  accountId: string,
  { accountLocks, isUnknown: wasUnknown = false }: CommitOptions,
  commit: (limits: TxOptions) => Promise<Outcome>,
): Promise<Outcome> {
  let isUnknown = wasUnknown;
  const on = createRetryRule();
  const attempt = async (limits: TxOptions) => {
    try {
      return await commit(limits);
    } catch (error) {
      isUnknown ||= isConnectionLoss(error);
      throw error;
    }
  };
  try {
    return await accountLocks.run(accountId, async (limits) => {
      try {
        return await retry(() => attempt(limits), { on, backoff: OUTAGE_BACKOFF, signal: limits.signal });
      } catch (error) {
        if (isTransientFailure(error)) accountLocks.rejectWaiting(accountId, error); // before the first waiter begins
        throw error;
      }
    });
  } catch (error) {
    throw isUnknown ? new OutcomeUnknown("The database connection was lost during a commit.", { cause: error }) : error;
  }
}

/** True for a refusal, or an error after which nothing can have been committed. */
export function isKnownNotCreated(error: unknown): boolean {
  return isRefusal(error) || isRolledBack(error);
}

/** A SERVER_ERROR Problem means that the outcome is unknown. */
export function isRefusal(error: unknown): error is Problem {
  return error instanceof Problem && error.code !== "SERVER_ERROR";
}

/** Retries after a lost connection, for a limited time. */
function createRetryRule(): (error: unknown) => boolean {
  let untilMs: number | null = null;
  return (error) => {
    if (!isTransientFailure(error)) return false;
    untilMs ??= performance.now() + OUTAGE_MS_MAX;
    return performance.now() < untilMs;
  };
}

/**
 * A database that is restarting, out of connections, or failing over recovers in a moment; one with a full disk does
 * not.
 */
export function isTransientFailure(error: unknown): boolean {
  if (isConnectionLoss(error) || error instanceof DatabaseUnresponsive) return true;
  return isStandby(error) || codeOf(error) === TOO_MANY_CONNECTIONS;
}
