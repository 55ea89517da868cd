/**
 * Queues this process's transactions that lock an account. Creating or canceling a run locks its account until the
 * commit. Another process may hold that lock for a long time, for example through a transaction left open or because it
 * is frozen. Waiting inside the database occupies a connection of the pool that all accounts share, so each attempt
 * waits there only briefly. The rest of the wait happens here: transactions for a locked account queue, and the first
 * one retries. While nobody else holds the lock there is no queue, and several transactions of an account run side by
 * side.
 */
import { AccountLocked, isLockTimeout, isOutage, DatabaseUnresponsive } from "../../platform/database/errors.ts";
import type { TxOptions } from "../../platform/database/database.ts";
import { withDeadline } from "../../platform/resilience/deadline.ts";
import { retry } from "../../platform/resilience/retry.ts";
import { createSemaphore, type Semaphore } from "../../platform/resilience/semaphore.ts";
import { ACCOUNT_LOCK_MS } from "../run-limits.ts";

/**
 * Enough that the next commit can queue behind the previous one, but only half of the eight connections in the pool.
 */
const SIDE_BY_SIDE_MAX = 4;
const BACKOFF = { baseMs: 100, capMs: 1_000 };
/** A queue of commits on a slow disk may take seconds. */
export const LOCK_TIMEOUT_MS = 30_000;
/** During shutdown: enough to wait for other transactions of this process, and well before connections are closed. */
const SHUTDOWN_TIMEOUT_MS = 2_000;

type Limits = TxOptions & { readonly signal: AbortSignal };
/** One transaction that locks the account. It is repeated if it did not get the lock. */
type Attempt<Result> = (limits: Limits) => Promise<Result>;

/** An account that a transaction in this process wants to lock. */
interface Account {
  readonly permits: Semaphore;
  /** For transactions whose account is locked by another process. */
  readonly queue: Semaphore;
  isLocked: boolean;
  users: number;
}

export class AccountLockQueue {
  readonly #accounts = new Map<string, Account>();
  readonly #shutdown = new AbortController();
  #isDraining = false;

  /** @throws the last error of `attempt`, AccountLocked at the timeout, or DatabaseUnresponsive. */
  run<Result>(accountId: string, attempt: Attempt<Result>): Promise<Result> {
    const timeoutMs = this.#isDraining ? SHUTDOWN_TIMEOUT_MS : LOCK_TIMEOUT_MS;
    return withDeadline(
      timeoutMs,
      (signal) => this.#run(accountId, attempt, { lockTimeoutMs: ACCOUNT_LOCK_MS, signal }),
      {
        ...(this.#isDraining ? {} : { signal: this.#shutdown.signal }),
        error: () => new AccountLocked(timeoutMs),
      },
    );
  }

  /** Aborts when waiting callers must be answered because connections are about to close. */
  get stopping(): AbortSignal {
    return this.#shutdown.signal;
  }

  /** Fails every waiter for the account now: the failure before them would affect them as well. */
  rejectWaiting(accountId: string, cause: unknown): void {
    const account = this.#accounts.get(accountId);
    for (const semaphore of [account?.queue, account?.permits])
      semaphore?.rejectWaiting(new DatabaseUnresponsive(cause));
  }

  /**
   * Called when the process shuts down: callers that still wait for an account are answered before connections close.
   */
  drain(): void {
    this.#isDraining = true;
    const end = () => this.#shutdown.abort(new AccountLocked(SHUTDOWN_TIMEOUT_MS));
    setTimeout(end, SHUTDOWN_TIMEOUT_MS).unref();
  }

  async #run<Result>(accountId: string, attempt: Attempt<Result>, limits: Limits): Promise<Result> {
    const account = this.#accounts.get(accountId) ?? newAccount();
    this.#accounts.set(accountId, account);
    account.users += 1;
    try {
      return await account.permits.run(() => runLocking(account, attempt, limits), { signal: limits.signal });
    } finally {
      account.users -= 1;
      if (account.users === 0) this.#accounts.delete(accountId);
    }
  }
}

function newAccount(): Account {
  return {
    permits: createSemaphore({ permits: SIDE_BY_SIDE_MAX }),
    queue: createSemaphore({ permits: 1 }),
    isLocked: false,
    users: 0,
  };
}

async function runLocking<Result>(account: Account, attempt: Attempt<Result>, limits: Limits): Promise<Result> {
  if (!account.isLocked) {
    try {
      return await attempt(limits);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      account.isLocked = true;
    }
  }
  const { signal } = limits;
  const attempts = async (): Promise<Result> => {
    let isLocked = false;
    try {
      return await retry(() => attempt(limits), { on: isLockTimeout, backoff: BACKOFF, signal });
    } catch (error) {
      // An outage, or a timeout before the attempt, says nothing about the lock.
      isLocked = isLockTimeout(error) || isOutage(error) || error instanceof AccountLocked;
      throw error;
    } finally {
      account.isLocked = isLocked; // any other failure came after the lock was granted
    }
  };
  return account.queue.run(attempts, { signal });
}
