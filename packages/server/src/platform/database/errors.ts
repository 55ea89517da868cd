import type { RetryOptions } from "../resilience/retry.ts";

/** What errors of the database mean for the caller: retry, check whether it was done, or report. */

/** SQLSTATE of a database error; a driver's own fault (a closed socket) has an errno or none. */
export function sqlState(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

/** Another transaction was in the way; the same one may succeed now. */
export function isSerializationFailure(error: unknown): boolean {
  return ["40001", "40P01"].includes(sqlState(error) ?? "");
}

/** Another transaction has written the same value first, where it may stand once. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === "23505";
}

const CONNECTION_LOSS = /^(08...|57P0[1235])$/;
/** Of the socket, and of finding the server's address. */
const NETWORK_LOSS =
  /^(ECONN(RESET|REFUSED|ABORTED)|EPIPE|ENOENT|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/;
const CONNECTION_LOSS_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|timeout expired|not queryable|Client was closed|Query read timeout/;

/** The server answered nothing within `query_timeout`, or within the time that a connection may take to open. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && ["Query read timeout", "timeout expired"].includes(error.message);
}

/**
 * True when the statement's fate is unknown because its connection went away. Only what is idempotent (create by id,
 * finish, claim, reads) may be sent again after it.
 */
export function isConnectionLoss(error: unknown): boolean {
  const code = sqlState(error) ?? "";
  const text = error instanceof Error ? error.message : "";
  return CONNECTION_LOSS.test(code) || NETWORK_LOSS.test(code) || CONNECTION_LOSS_TEXT.test(text);
}

/** The server has become a standby and leaves its connections open; a new connection reaches its successor. */
export function isStandby(error: unknown): boolean {
  return sqlState(error) === "25006";
}

/** With a digit, as all of them have: the errno EPERM is none. */
const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/;

/** True when it is certain that the transaction was not committed: the server said so, or was sent nothing. */
export function isRolledBack(error: unknown): boolean {
  if (error instanceof NoConnectionFree || error instanceof AccountLocked || error instanceof TurnedAway) return true;
  return SQL_STATE.test(sqlState(error) ?? "") && !isConnectionLoss(error);
}

/** Rolled back by the server: a conflict, a full disk or memory, a statement or lock that took too long, a failure of I/O. */
const OUTAGE = /^(40...|53...|57...|58...|55P03|25P0[34]|25006)$/;

/** The database could not do its work now, whatever it was asked: what is worth asking again is asked again. */
export function isOutage(error: unknown): boolean {
  if (isConnectionLoss(error) || OUTAGE.test(sqlState(error) ?? "")) return true;
  if (error instanceof NoConnectionFree || error instanceof TurnedAway) return true;
  return error instanceof DatabaseUnusable && isOutage(error.cause);
}

/**
 * A database that restarts is back within seconds; what waits longer holds up a process that wants to stop. For work
 * that would be paid for once more if it were given up, and that may be done twice.
 */
export const OUTAGE_POLICY: RetryOptions = {
  on: isOutage,
  backoff: { baseMs: 100, capMs: 1_000 },
  timeoutMs: 15_000,
};

/** A database that was opened did not answer; the cause says why. */
export class DatabaseUnusable extends Error {
  override readonly name = "DatabaseUnusable";
}

/** Somebody else kept a lock for longer than a statement waits for it; nothing was done. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === "55P03";
}

/** The server gave a statement up: it took longer than it may. */
export function isStatementTimeout(error: unknown): boolean {
  return sqlState(error) === "57014";
}

/** All connections of the pool were taken for as long as work may wait; nothing was sent. */
export class NoConnectionFree extends Error {
  override readonly name = "NoConnectionFree";

  constructor(afterMs: number) {
    super(`No database connection was free within ${afterMs / 1_000} s.`);
  }
}

/** The database gave no answer to those that asked first; nothing was sent. */
export class TurnedAway extends Error {
  override readonly name = "TurnedAway";

  constructor(cause: unknown) {
    super("The database did not answer those who asked before.", { cause });
  }
}

/** An account could not be locked in time: somebody else has the lock, or all connections were taken; nothing was sent. */
export class AccountLocked extends Error {
  override readonly name = "AccountLocked";

  constructor(afterMs: number) {
    super(`The account could not be locked within ${afterMs / 1_000} s.`);
  }
}
