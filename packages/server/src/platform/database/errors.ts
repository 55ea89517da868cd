import { codeOf } from "../reason-of.ts";
import { findAdvice } from "./refusals.ts";
import type { RetryOptions } from "../resilience/retry.ts";

/** What errors of the database mean for the caller: retry, check whether it was done, or report. */

/**
 * `refused`: no connection until somebody changes a setting (refusals.ts). `gone`: the connection went away, and what
 * became of the statement is unknown. `silent`: the same, since no answer came in time. `standby`: the server has become
 * one and leaves its connections open; a new connection reaches its successor. `conflict`: another transaction was in the
 * way; the same one may succeed now. `locked`: somebody else kept a lock for longer than a statement waits for it. `slow`:
 * the server gave the statement up, since it took longer than it may. `trouble`: full disk or memory, no free connection,
 * a failure of I/O, a transaction left open: not about what was asked. `taken`: another transaction has written the same
 * value first, where it may stand once.
 */
type Meaning = "refused" | "gone" | "silent" | "standby" | "conflict" | "locked" | "slow" | "trouble" | "taken";

/**
 * The first row that fits counts. A code is an SQLSTATE of a server or a pooler, or the errno of a socket and of finding
 * the server's address; the driver's own faults have no code, only a text.
 */
const MEANINGS: readonly (readonly [Meaning, code: RegExp, text?: RegExp])[] = [
  ["gone", /^(08...|57P0[1235])$/],
  ["gone", /^(ECONN(RESET|REFUSED|ABORTED)|EPIPE|ENOENT|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/],
  ["silent", /^$/, /^(Query read timeout|timeout expired)$/],
  ["gone", /^$/, /Connection terminated|timeout exceeded when trying to connect|not queryable|Client was closed/],
  ["standby", /^25006$/],
  ["conflict", /^(40001|40P01)$/],
  ["locked", /^55P03$/],
  ["slow", /^57014$/],
  ["taken", /^23505$/],
  ["trouble", /^(40...|53...|57...|58...|25P0[34])$/],
];

function meaningOf(error: unknown): Meaning | null {
  if (!(error instanceof Error)) return null;
  if (adviceOf(error) !== null) return "refused";
  const code = sqlState(error) ?? "";
  const row = MEANINGS.find(([, codes, texts = /^/]) => codes.test(code) && texts.test(error.message));
  return row?.[0] ?? null;
}

/** SQLSTATE of a database error; a driver's own fault (a closed socket) has an errno or none. */
export function sqlState(error: unknown): string | null {
  return codeOf(error);
}

/** What an operator sets so that connections are taken, when nothing but that helps. */
export function adviceOf(error: unknown): string | null {
  return error instanceof Error ? findAdvice(sqlState(error) ?? "", error.message) : null;
}

export function isSerializationFailure(error: unknown): boolean {
  return meaningOf(error) === "conflict";
}

/** The server answered nothing within `query_timeout`, or within the time that a connection may take to open. */
export function isUnresponsive(error: unknown): boolean {
  return meaningOf(error) === "silent";
}

export function isUniqueViolation(error: unknown): boolean {
  return meaningOf(error) === "taken";
}

/**
 * True when the statement's fate is unknown because its connection went away. Only what is idempotent (create by id,
 * finish, claim, reads) may be sent again after it.
 */
export function isConnectionLoss(error: unknown): boolean {
  return ["gone", "silent"].includes(meaningOf(error) ?? "");
}

export function isStandby(error: unknown): boolean {
  return meaningOf(error) === "standby";
}

/** Nothing was done. */
export function isLockTimeout(error: unknown): boolean {
  return meaningOf(error) === "locked";
}

export function isStatementTimeout(error: unknown): boolean {
  return meaningOf(error) === "slow";
}

/** With a digit, as all of them have: the errno EPERM is none. */
const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/;

/** True when it is certain that the transaction was not committed: the server said so, or was sent nothing. */
export function isRolledBack(error: unknown): boolean {
  if (error instanceof NoConnectionFree || error instanceof AccountLocked || error instanceof DatabaseUnresponsive)
    return true;
  return SQL_STATE.test(sqlState(error) ?? "") && !isConnectionLoss(error);
}

/** The database could not do its work now, whatever it was asked: what is worth asking again is asked again. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DatabaseUnusable) return isOutage(error.cause);
  if (error instanceof NoConnectionFree || error instanceof DatabaseUnresponsive) return true;
  return ![null, "refused", "taken"].includes(meaningOf(error));
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

/** All connections of the pool were taken for as long as work may wait; nothing was sent. */
export class NoConnectionFree extends Error {
  override readonly name = "NoConnectionFree";

  constructor(afterMs: number) {
    super(`No database connection was free within ${afterMs / 1_000} s.`);
  }
}

/** The database gave no answer to those that asked first; nothing was sent. */
export class DatabaseUnresponsive extends Error {
  override readonly name = "DatabaseUnresponsive";

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
