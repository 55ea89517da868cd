/**
 * Queues this process's transactions that lock an account. Creating and canceling a run lock the account until they
 * commit, and somebody else may have that lock for long: a transaction left open, a process that is frozen. A wait in the
 * database takes a connection of the pool that all accounts share, so no attempt waits there for long. The rest of the
 * wait is out here: transactions of a locked account queue, and the first of them retries. While nobody else has the
 * lock there is no queue, and some of an account run side by side.
 */
import { AccountLocked, isLockTimeout, isOutage, DatabaseUnresponsive } from "../../platform/database/errors.ts";
import type { TxOptions } from "../../platform/database/database.ts";
import { withDeadline } from "../../platform/resilience/deadline.ts";
import { retry } from "../../platform/resilience/retry.ts";
import { createSemaphore, type Semaphore } from "../../platform/resilience/semaphore.ts";
import { ACCOUNT_LOCK_MS } from "../run-limits.ts";

/** Enough that the next commit waits for the one before, and half of the pool: it has eight connections. */
const SIDE_BY_SIDE_MAX = 4;
const BACKOFF = { baseMs: 100, capMs: 1_000 };
/** A queue of commits on a slow disk may take seconds. */
export const LOCK_TIMEOUT_MS = 30_000;
/** In a shutdown: enough for what only waits for others of this process, and well before connections are closed. */
const SHUTDOWN_TIMEOUT_MS = 2_000;

type Limits = TxOptions & { readonly signal: AbortSignal };
/** One transaction that locks the account; it is repeated when it did not get the lock. */
type Attempt<Result> = (limits: Limits) => Promise<Result>;

/** An account while somebody here wants to lock it. */
interface Account {
  readonly permits: Semaphore;
  /** For those whose account is locked by somebody else. */
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

  /** Aborts when those that still wait must be answered, since connections are closed soon. */
  get stopping(): AbortSignal {
    return this.#shutdown.signal;
  }

  /** Fails all that wait for the account now: what failed before them would fail for them as well. */
  rejectWaiting(accountId: string, cause: unknown): void {
    const account = this.#accounts.get(accountId);
    for (const semaphore of [account?.queue, account?.permits])
      semaphore?.rejectWaiting(new DatabaseUnresponsive(cause));
  }

  /** The process shuts down: what still waits for an account is answered before connections are closed. */
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
      // An outage, or a timeout before the attempt, says nothing of the lock.
      isLocked = isLockTimeout(error) || isOutage(error) || error instanceof AccountLocked;
      throw error;
    } finally {
      account.isLocked = isLocked; // any other failure came after the lock was granted
    }
  };
  return account.queue.run(attempts, { signal });
}
