import { SLIPS_MAX, suggestName } from "@promptd/contract";
import { Problem } from "../platform/problem.ts";
import { isoTime } from "../platform/clock.ts";
import type { Database, Queryable } from "../platform/database/database.ts";
import { isUuid } from "../platform/ids.ts";
import {
  endPlan,
  findAccount,
  findAccountByName,
  listEmails,
  insertAccount,
  updatePlan,
  type Account,
} from "./accounts-store.ts";

export type Plan = "pro" | "none";

const EMAIL = /^[^\s@]+@[^\s@]+$/;

export interface CreateAccount {
  readonly email: string;
  readonly username?: string | undefined;
  readonly displayName?: string | undefined;
  readonly plan: Plan;
}

/** @throws Problem VALIDATION_ERROR if the address is not valid, or the address or user name is taken. */
export async function createAccount(db: Queryable, newId: () => string, account: CreateAccount): Promise<string> {
  if (!EMAIL.test(account.email)) {
    throw new Problem(
      "VALIDATION_ERROR",
      `"${account.email}" is not a valid email address. Expected one such as ada@example.org.`,
    );
  }
  const accountId = newId();
  const created = await insertAccount(db, {
    accountId,
    email: account.email,
    username: account.username ?? null,
    displayName: account.displayName ?? null,
    proUntil: account.plan === "pro" ? "infinity" : "-infinity",
  });
  if (!created)
    throw new Problem(
      "VALIDATION_ERROR",
      "An account with this email address or user name already exists. Use that account, or choose another address and name.",
    );
  return accountId;
}

/** Gets an account by email address or id. @throws Problem NOT_FOUND_ERROR, also for a deleted account. */
export async function getAccountByName(db: Database, who: string): Promise<Account> {
  const account = await findAccountByName(db, who);
  if (account !== null) return account;
  const near = await nearestEmail(db, who);
  const next =
    near === null
      ? 'List all accounts with "promptd admin account list", or create one with "promptd admin user create --email <E>".'
      : `Did you mean ${near}?`;
  throw new Problem("NOT_FOUND_ERROR", `No account has the email address or id "${who}". ${next}`);
}

/** Also gets a deleted account by its id, so that its remains can be read and its ledger repaired. */
export async function getAccountEvenDeleted(db: Database, who: string): Promise<Account> {
  const account = isUuid(who) ? await findAccount(db, who) : null;
  return account ?? getAccountByName(db, who);
}

/** Returns the address most similar to the typed text; null: none is similar. */
async function nearestEmail(db: Database, typed: string): Promise<string | null> {
  return suggestName(typed.toLowerCase(), await listEmails(db, typed.length, SLIPS_MAX), SLIPS_MAX);
}

/** `untilMs`: milliseconds since 1970; null: no end. The plan "none" ends the current plan at once. */
export async function setPlan(
  db: Queryable,
  accountId: string,
  plan: { readonly plan: Plan; readonly untilMs: number | null },
): Promise<void> {
  if (plan.plan === "none") return endPlan(db, accountId);
  await updatePlan(db, accountId, plan.untilMs === null ? "infinity" : isoTime(plan.untilMs));
}
