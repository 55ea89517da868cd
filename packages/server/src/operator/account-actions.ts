import { getAccountEvenDeleted, type Plan } from "../accounts/index.ts";
import { adjustCredits, findStanding, freezeAccount, unfreezeAccount, type CreditStanding } from "../credits/index.ts";
import { isoTime } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";

/** The most that PROMPTD_ACTIVE_RUNS_MAX allows. */
const ACTIVE_RUNS_MAX = 1_000_000;

export interface AccountReport {
  readonly userId: string;
  readonly email: string;
  readonly plan: Plan;
  /** ISO 8601: when the plan ends or ended; null: it has no end, or there never was one. */
  readonly until: string | null;
  readonly credits: Omit<CreditStanding, "frozen">;
  readonly frozen: CreditStanding["frozen"];
  readonly activeRuns: number;
}

interface Freezing {
  /** False: the account was in that state before, and nothing was written. */
  readonly isChanged: boolean;
  readonly account: AccountReport;
}

/** What an operator does with an account whose ledger needs a check. Users are named by email address or id, deleted ones by id. */
export class AccountActions {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async show(user: string): Promise<AccountReport> {
    const { countActiveRuns } = await import("../runs/index.ts"); // it loads the workers: no other act needs them
    const { accountId, email, isPro, proUntil } = await getAccountEvenDeleted(this.#db, user);
    const { frozen, ...credits } = await findStanding(this.#db, accountId);
    const until = proUntil instanceof Date ? isoTime(proUntil.getTime()) : null;
    const activeRuns = await countActiveRuns(this.#db, accountId, ACTIVE_RUNS_MAX);
    return { userId: accountId, email, plan: isPro ? "pro" : "none", until, credits, frozen, activeRuns };
  }

  async freeze(user: string, reason: string): Promise<Freezing> {
    const { accountId } = await getAccountEvenDeleted(this.#db, user);
    const isChanged = await freezeAccount(this.#db, accountId, reason);
    return { isChanged, account: await this.show(accountId) };
  }

  /** @throws Problem while the ledger of the account does not add up. */
  async unfreeze(user: string, reason: string, acceptJournal: boolean): Promise<Freezing> {
    const { accountId } = await getAccountEvenDeleted(this.#db, user);
    const isChanged = await unfreezeAccount(this.#db, accountId, { reason, acceptJournal });
    return { isChanged, account: await this.show(accountId) };
  }

  /** @throws Problem when less would be left than is held. */
  async adjustCredits(user: string, amount: number, reason: string): Promise<AccountReport> {
    const { accountId } = await getAccountEvenDeleted(this.#db, user);
    await adjustCredits(this.#db, { accountId, amount, reason });
    return this.show(accountId);
  }
}
