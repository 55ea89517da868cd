/**
 * The way of this process to the locks of accounts. Creating and canceling a run lock the account until they commit, and
 * somebody may keep that lock: a transaction left open, a process that is frozen. Who waits for it in the database has
 * a connection of the pool that all accounts share, so no attempt waits there for long. The rest of the wait is out here:
 * those of the account stand in line, and the first of them tries now and then. While nobody keeps the lock there is
 * no line, and some of an account go side by side.
 */
import { AccountLocked, isLockTimeout, TurnedAway } from "../../platform/database/errors.ts";
import type { TxOptions } from "../../platform/database/database.ts";
import { ACCOUNT_LOCK_MS } from "../run-limits.ts";
import { createSemaphore, type Semaphore } from "../../platform/resilience/semaphore.ts";
import { retry } from "../../platform/resilience/retry.ts";

/** Enough that the next commit waits for the one before, and half of the pool: it has eight connections. */
const SIDE_BY_SIDE_MAX = 4;
const PAUSE = { baseMs: 100, capMs: 1_000 };
/** A queue of commits on a slow disk may take seconds; who waits longer is told so. */
const PATIENCE_MS = 30_000;
/** At a stop: enough for what only stands behind others, and well before connections are closed. */
const STOP_PATIENCE_MS = 2_000;

type Limits = TxOptions & { readonly signal: AbortSignal };
/** One transaction that locks the account; it is made again when the lock was not to be had. */
type Attempt<Result> = (limits: Limits) => Promise<Result>;

/** An account for as long as somebody here wants to lock it. */
interface Account {
  readonly permits: Semaphore;
  /** Where those stand whose account is locked by somebody else. */
  readonly queue: Semaphore;
  isLocked: boolean;
  users: number;
}

interface Patience {
  readonly signal: AbortSignal;
  readonly shorten: () => void;
  readonly end: () => void;
}

export class AccountTurns {
  readonly #accounts = new Map<string, Account>();
  readonly #patiences = new Set<Patience>();
  #isDraining = false;

  /** @throws the last error of `attempt`, AccountLocked when the patience ended before its turn came, or TurnedAway. */
  async run<Result>(accountId: string, attempt: Attempt<Result>): Promise<Result> {
    const patience = startPatience(this.#isDraining ? STOP_PATIENCE_MS : PATIENCE_MS);
    this.#patiences.add(patience);
    const limits = { lockTimeoutMs: ACCOUNT_LOCK_MS, signal: patience.signal };
    try {
      return await this.#runWithin(accountId, attempt, limits);
    } finally {
      patience.end();
      this.#patiences.delete(patience);
    }
  }

  /** Those who wait for the account are told what somebody before them has found out in vain: they would wait as long. */
  turnAway(accountId: string, cause: unknown): void {
    const account = this.#accounts.get(accountId);
    for (const semaphore of [account?.queue, account?.permits]) semaphore?.rejectWaiting(new TurnedAway(cause));
  }

  /** The process stops: who still waits for an account is answered before connections are closed. */
  drain(): void {
    this.#isDraining = true;
    for (const patience of this.#patiences) patience.shorten();
  }

  async #runWithin<Result>(accountId: string, attempt: Attempt<Result>, limits: Limits): Promise<Result> {
    const account = this.#accounts.get(accountId) ?? newAccount();
    this.#accounts.set(accountId, account);
    account.users += 1;
    try {
      return await account.permits.run(() => runInTurn(account, attempt, limits), { signal: limits.signal });
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

async function runInTurn<Result>(account: Account, attempt: Attempt<Result>, limits: Limits): Promise<Result> {
  if (!account.isLocked) {
    try {
      return await attempt(limits);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      account.isLocked = true;
    }
  }
  return account.queue.run(
    async () => {
      const { signal } = limits;
      const result = await retry(() => attempt(limits), { on: isLockTimeout, backoff: PAUSE, signal });
      account.isLocked = false;
      return result;
    },
    { signal: limits.signal },
  );
}

function startPatience(ms: number): Patience {
  const controller = new AbortController();
  const abortAfter = (givenMs: number) => setTimeout(() => controller.abort(new AccountLocked(givenMs)), givenMs);
  let timer = abortAfter(ms);
  return {
    signal: controller.signal,
    shorten: () => {
      clearTimeout(timer);
      timer = abortAfter(STOP_PATIENCE_MS);
    },
    end: () => clearTimeout(timer),
  };
}
