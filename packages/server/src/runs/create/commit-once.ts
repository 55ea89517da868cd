/**
 * Commits what creates runs, and finds out whether it was committed. This file alone knows of lost connections, accounts
 * that others lock and outcomes that are unknown; the statements are in runs/sql.
 */
import type { TxOptions } from "../../platform/database/database.ts";
import {
  isConnectionLoss,
  isRolledBack,
  isStandby,
  sqlState,
  DatabaseUnresponsive,
} from "../../platform/database/errors.ts";
import { Problem } from "../../platform/problem.ts";
import { retry } from "../../platform/resilience/retry.ts";
import type { AccountLockQueue } from "./account-lock-queue.ts";

export interface CommitOptions {
  readonly accountLocks: AccountLockQueue;
  /** Whether it was sent before, with an end that nobody knows. */
  readonly isUnknown?: boolean;
}

const TOO_MANY_CONNECTIONS = "53300";
/** A database that restarts is back within two seconds or so; a caller should not wait much longer for a 500. */
const OUTAGE_MS_MAX = 5_000;
const OUTAGE_BACKOFF = { baseMs: 50, capMs: 500 };

/** The connection was lost, and nobody could find out what became of the commit. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/**
 * Calls `commit`, one transaction that must find its runs if they exist: a lost connection leaves its end unknown, and the
 * same ids are then sent again. No answer is given before the outcome is known, or said to be unknown.
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
        if (isTransientFailure(error)) accountLocks.rejectWaiting(accountId, error); // before the first of them begins
        throw error;
      }
    });
  } catch (error) {
    throw isUnknown ? new OutcomeUnknown("The database connection was lost during a commit.", { cause: error }) : error;
  }
}

/** True after a refusal, or an error after which nothing can have been committed. */
export function isKnownNotCreated(error: unknown): boolean {
  return isRefusal(error) || isRolledBack(error);
}

/** The other Problem says that the outcome is unknown. */
export function isRefusal(error: unknown): error is Problem {
  return error instanceof Problem && error.code !== "SERVER_ERROR";
}

/** A lost connection is repeated for a while. */
function createRetryRule(): (error: unknown) => boolean {
  let untilMs: number | null = null;
  return (error) => {
    if (!isTransientFailure(error)) return false;
    untilMs ??= performance.now() + OUTAGE_MS_MAX;
    return performance.now() < untilMs;
  };
}

/** A database that is away, out of connections or failing over is back in a moment; one with a full disk is not. */
export function isTransientFailure(error: unknown): boolean {
  if (isConnectionLoss(error) || error instanceof DatabaseUnresponsive) return true;
  return isStandby(error) || sqlState(error) === TOO_MANY_CONNECTIONS;
}
