import { codeOf } from "../reason-of.ts";
import { findAdvice } from "./refusals.ts";
import type { RetryOptions } from "../resilience/retry.ts";

/** What database errors mean for the caller: retry, check whether it was done, or report. */

/**
 * `refused`: no connection is possible until somebody changes a setting (refusals.ts). `gone`: the connection was lost,
 * and the fate of the statement is unknown. `silent`: the same, because no answer came in time. `standby`: the server
 * has become a standby and leaves its connections open; a new connection reaches the new primary. `conflict`: another
 * transaction was in the way; a retry may succeed. `locked`: another transaction held a lock for longer than the lock
 * timeout. `slow`: the server canceled the statement at the statement timeout. `trouble`: full disk or memory, no free
 * connection, an I/O failure, a transaction left open: not caused by the statement itself. `taken`: another transaction
 * wrote the same value of a unique column first.
 */
type Meaning = "refused" | "gone" | "silent" | "standby" | "conflict" | "locked" | "slow" | "trouble" | "taken";

/**
 * The first matching row counts. A code is the SQLSTATE of a server or pooler, or the errno of a socket or an address
 * lookup; the driver's own faults have no code, only a text.
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
  const code = codeOf(error) ?? "";
  const row = MEANINGS.find(([, codes, texts = /^/]) => codes.test(code) && texts.test(error.message));
  return row?.[0] ?? null;
}

/** Returns what an operator must change so that connections are accepted; null: that is not the problem. */
export function adviceOf(error: unknown): string | null {
  return error instanceof Error ? findAdvice(codeOf(error) ?? "", error.message) : null;
}

export function isSerializationFailure(error: unknown): boolean {
  return meaningOf(error) === "conflict";
}

/** Whether the server did not answer within `query_timeout`, or within the connection timeout. */
export function isUnresponsive(error: unknown): boolean {
  return meaningOf(error) === "silent";
}

export function isUniqueViolation(error: unknown): boolean {
  return meaningOf(error) === "taken";
}

/**
 * Whether the statement's fate is unknown because its connection was lost. After that, only idempotent statements
 * (create by id, finish, claim, reads) may be sent again.
 */
export function isConnectionLoss(error: unknown): boolean {
  return ["gone", "silent"].includes(meaningOf(error) ?? "");
}

export function isStandby(error: unknown): boolean {
  return meaningOf(error) === "standby";
}

/** Whether the statement did nothing because it did not get a lock in time. */
export function isLockTimeout(error: unknown): boolean {
  return meaningOf(error) === "locked";
}

export function isStatementTimeout(error: unknown): boolean {
  return meaningOf(error) === "slow";
}

/** Every SQLSTATE has a digit, unlike the errno EPERM. */
const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/;

/** Whether the transaction was certainly not committed: the server said so, or nothing was sent to it. */
export function isRolledBack(error: unknown): boolean {
  if (error instanceof NoConnectionFree || error instanceof AccountLocked || error instanceof DatabaseUnresponsive)
    return true;
  return SQL_STATE.test(codeOf(error) ?? "") && !isConnectionLoss(error);
}

/** Whether the database cannot do its work now, whatever the statement, so that a retry is worthwhile. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DatabaseUnusable) return isOutage(error.cause);
  if (error instanceof NoConnectionFree || error instanceof DatabaseUnresponsive) return true;
  return ![null, "refused", "taken"].includes(meaningOf(error));
}

/**
 * For work that would be paid for again if it were abandoned, and that may be done twice. A restarting database is back
 * within seconds; a longer wait would delay a process that is stopping.
 */
export const OUTAGE_POLICY: RetryOptions = {
  on: isOutage,
  backoff: { baseMs: 100, capMs: 1_000 },
  timeoutMs: 15_000,
};

/** The database could not be opened; the cause says why. */
export class DatabaseUnusable extends Error {
  override readonly name = "DatabaseUnusable";
}

/** All pool connections were busy for as long as work may wait; nothing was sent. */
export class NoConnectionFree extends Error {
  override readonly name = "NoConnectionFree";

  constructor(afterMs: number) {
    super(`No database connection was free within ${afterMs / 1_000} s.`);
  }
}

/** The database did not answer earlier statements, so this one was not sent. */
export class DatabaseUnresponsive extends Error {
  override readonly name = "DatabaseUnresponsive";

  constructor(cause: unknown) {
    super("The database did not answer earlier statements.", { cause });
  }
}

/**
 * An account could not be locked in time: another transaction has the lock, or all connections were busy. Nothing was
 * sent.
 */
export class AccountLocked extends Error {
  override readonly name = "AccountLocked";

  constructor(afterMs: number) {
    super(`The account could not be locked within ${afterMs / 1_000} s.`);
  }
}
