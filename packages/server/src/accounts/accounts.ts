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

/** @throws Problem VALIDATION_ERROR when the address is not valid, or it or the user name is taken. */
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
      "An account with this email address or user name exists already. Use that account, or give another address and name.",
    );
  return accountId;
}

/** By email address or account id. @throws Problem NOT_FOUND_ERROR, also for a deleted account. */
export async function getAccountByName(db: Database, who: string): Promise<Account> {
  const account = await findAccountByName(db, who);
  if (account !== null) return account;
  const near = await nearestEmail(db, who);
  const next =
    near === null
      ? "promptd admin account list shows all accounts, promptd admin user create --email <E> makes one."
      : `Did you mean ${near}?`;
  throw new Problem("NOT_FOUND_ERROR", `No account has the email address or id "${who}". ${next}`);
}

/** The same, and a deleted account by its id: what stays of it can be read, and its ledger be repaired. */
export async function getAccountEvenDeleted(db: Database, who: string): Promise<Account> {
  const account = isUuid(who) ? await findAccount(db, who) : null;
  return account ?? getAccountByName(db, who);
}

/** The address that is most like the one typed; null: none is like it. */
async function nearestEmail(db: Database, typed: string): Promise<string | null> {
  return suggestName(typed.toLowerCase(), await listEmails(db, typed.length, SLIPS_MAX), SLIPS_MAX);
}

/** `until`: milliseconds since 1970, null = without an end. A plan of "none" ends at once. */
export async function setPlan(
  db: Queryable,
  accountId: string,
  plan: { readonly plan: Plan; readonly untilMs: number | null },
): Promise<void> {
  if (plan.plan === "none") return endPlan(db, accountId);
  await updatePlan(db, accountId, plan.untilMs === null ? "infinity" : isoTime(plan.untilMs));
}
