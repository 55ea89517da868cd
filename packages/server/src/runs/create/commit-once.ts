/**
 * Commits what creates a run, and finds out whether it was committed. This file alone knows of lost connections, accounts
 * that others lock, races for a key and outcomes that are unknown; the statements are in runs/sql.
 */
import type { TxOptions } from "../../platform/database/database.ts";
import { isConnectionLoss, isRolledBack, isStandby, sqlState, TurnedAway } from "../../platform/database/errors.ts";
import { Problem } from "../../platform/problem.ts";
import { retry } from "../../platform/resilience/retry.ts";
import type { AccountLockQueue } from "./account-lock-queue.ts";

export interface CommitOptions {
  readonly accountLocks: AccountLockQueue;
}

/** Raised when another call took the Idempotency-Key meanwhile: its run can be seen now. */
const KEY_RACE = "PD409";
const KEY_RACES_MAX = 3;
/** Raised when the account has too many active runs. */
export const TOO_MANY_ACTIVE = "PD429";
const TOO_MANY_CONNECTIONS = "53300";
/** A database that restarts is back within two seconds or so; a caller should not wait much longer for a 500. */
const OUTAGE_MS_MAX = 5_000;
const OUTAGE_BACKOFF = { baseMs: 50, capMs: 500 };

/**
 * Calls `commit`, one transaction that must find the run if it exists: a lost connection leaves its end unknown, and the
 * same id is then sent again. No answer is given before the outcome is known, or said to be unknown.
 * @throws the last error of `commit`, or a Problem that says that the outcome is unknown.
 */
export async function commitOnce<Outcome>(
  { accountId, runId }: { readonly accountId: string; readonly runId: string },
  { accountLocks }: CommitOptions,
  commit: (limits: TxOptions) => Promise<Outcome>,
): Promise<Outcome> {
  let isUnknown = false;
  const on = createRetryRule();
  const attempt = async (limits: TxOptions) => {
    try {
      return await commit(limits);
    } catch (error) {
      isUnknown = isConnectionLoss(error) || (isUnknown && !showsItIsNew(error));
      throw error;
    }
  };
  try {
    return await accountLocks.run(accountId, async (limits) => {
      try {
        return await retry(() => attempt(limits), { on, backoff: OUTAGE_BACKOFF, signal: limits.signal });
      } catch (error) {
        if (isMomentary(error)) accountLocks.rejectWaiting(accountId, error); // before the first of them begins
        throw error;
      }
    });
  } catch (error) {
    throw isUnknown ? outcomeUnknown(runId, error) : error;
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

/** A lost race for the key is repeated some times, a lost connection for a while. */
function createRetryRule(): (error: unknown) => boolean {
  let races = 0;
  let untilMs: number | null = null;
  return (error) => {
    if (sqlState(error) === KEY_RACE) return (races += 1) <= KEY_RACES_MAX;
    if (!isMomentary(error)) return false;
    untilMs ??= performance.now() + OUTAGE_MS_MAX;
    return performance.now() < untilMs;
  };
}

/** Raised after the check for a run of this id, which waits for an earlier statement with the same id: there is none. */
function showsItIsNew(error: unknown): boolean {
  return [KEY_RACE, TOO_MANY_ACTIVE].includes(sqlState(error) ?? "");
}

/** A database that is away, out of connections or failing over is back in a moment; one with a full disk is not. */
function isMomentary(error: unknown): boolean {
  if (isConnectionLoss(error) || error instanceof TurnedAway) return true;
  return isStandby(error) || sqlState(error) === TOO_MANY_CONNECTIONS;
}

function outcomeUnknown(runId: string, cause: unknown): Problem {
  return new Problem(
    "SERVER_ERROR",
    `The database went away while the run was created, so it may or may not exist. Check GET /v1/runs/${runId} before you create it again.`,
    { headers: { "x-should-retry": "false" }, cause },
  );
}
