import type { ManagedCredits } from "@promptd/contract/manage";
import {
  createAccount,
  getAccountByName,
  getAccountEvenDeleted,
  setPlan,
  type CreateAccount,
  type Plan,
} from "../accounts/index.ts";
import {
  adjustCredits,
  checkLedger,
  findStanding,
  freezeAccount,
  giveCredits,
  grantCredits,
  unfreezeAccount,
  type LedgerReport,
  type Unfreezing,
} from "../credits/index.ts";
import { isoTime, systemClock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import type { CommandContext } from "../read-catalogue.ts";

/** The most that PROMPTD_ACTIVE_RUNS_MAX allows. */
const ACTIVE_RUNS_MAX = 1_000_000;

export interface AccountReport {
  readonly userId: string;
  readonly email: string;
  readonly plan: Plan;
  /** ISO 8601: when the plan ends or ended; null: it has no end, or there never was a plan. */
  readonly until: string | null;
  readonly credits: Omit<ManagedCredits, "frozen">;
  readonly frozen: ManagedCredits["frozen"];
  readonly activeRuns: number;
}

interface CreditGrant {
  readonly user: string;
  readonly amount: number;
  readonly reason?: string | undefined;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAtMs: number | null;
  readonly idempotencyKey?: string | undefined;
}

interface Freezing {
  /** False: the account was already in that state, and nothing was written. */
  readonly isChanged: boolean;
  readonly account: AccountReport;
}

/** Operator actions on accounts and their credits. Deleted accounts are named by id. */
export function accountActions({ db, newId }: CommandContext) {
  return {
    async create(
      user: CreateAccount & { readonly credits: number },
    ): Promise<{ userId: string; email: string; plan: Plan; credits: number }> {
      const userId = await db.tx(async (tx) => {
        const accountId = await createAccount(tx, newId, user);
        if (user.credits > 0) {
          const [amount, reason, idempotencyKey] = [user.credits, "given at creation", "promptd:creation"];
          await grantCredits(tx, { accountId, amount, reason, idempotencyKey, expiresAt: null });
        }
        return accountId;
      });
      return { userId, email: user.email.toLowerCase(), plan: user.plan, credits: user.credits };
    },
    async setPlan(
      user: string,
      plan: Plan,
      untilMs: number | null,
    ): Promise<{ userId: string; plan: Plan; until: string | null }> {
      const { accountId } = await getAccountByName(db, user);
      await setPlan(db, accountId, { plan, untilMs });
      return { userId: accountId, plan, until: plan === "pro" && untilMs !== null ? isoTime(untilMs) : null };
    },
    /** @throws Problem as giveCredits does. */
    async grantCredits(grant: CreditGrant): Promise<{ credits: number; isGranted: boolean }> {
      const { accountId } = await getAccountByName(db, grant.user);
      const { amount, reason = null, expiresAtMs, idempotencyKey = newId() } = grant;
      return giveCredits(db, { accountId, amount, reason, expiresAtMs, idempotencyKey }, systemClock.nowMs());
    },
    checkLedger: (): Promise<LedgerReport> => checkLedger(db),
    show: (user: string) => showAccount(db, user),
    async freeze(user: string, reason: string): Promise<Freezing> {
      const { accountId } = await getAccountEvenDeleted(db, user);
      const isChanged = await freezeAccount(db, accountId, reason);
      return { isChanged, account: await showAccount(db, accountId) };
    },
    /** @throws Problem while the account's ledger does not add up. */
    async unfreeze(user: string, unfreezing: Unfreezing): Promise<Freezing> {
      const { accountId } = await getAccountEvenDeleted(db, user);
      const isChanged = await unfreezeAccount(db, accountId, unfreezing);
      return { isChanged, account: await showAccount(db, accountId) };
    },
    /** @throws Problem when the balance would fall below what is held. */
    async adjustCredits(user: string, amount: number, reason: string): Promise<AccountReport> {
      const { accountId } = await getAccountEvenDeleted(db, user);
      await adjustCredits(db, { accountId, amount, reason });
      return showAccount(db, accountId);
    },
  };
}

async function showAccount(db: Database, user: string): Promise<AccountReport> {
  const { countActiveRuns } = await import("../runs/index.ts"); // loads the worker code, which no other action needs
  const { accountId, email, isPro, proUntil } = await getAccountEvenDeleted(db, user);
  const { frozen, ...credits } = await findStanding(db, accountId);
  const until = proUntil instanceof Date ? isoTime(proUntil.getTime()) : null;
  const activeRuns = await countActiveRuns(db, accountId, ACTIVE_RUNS_MAX);
  return { userId: accountId, email, plan: isPro ? "pro" : "none", until, credits, frozen, activeRuns };
}
