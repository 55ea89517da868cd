import { createAccount, findAccountByName, type Plan } from "../accounts/index.ts";
import { grantCredits } from "../credits/index.ts";
import type { Database, Tx } from "../platform/database/database.ts";
import { addressHash } from "./end-account-access.ts";
import { noteBenefits } from "./end-account-access-store.ts";
import { findPersonOfAccount, insertMember, listAccountsOfPerson, lockPerson } from "./people-store.ts";

export interface PersonalAccountOptions {
  readonly db: Database;
  readonly newId: () => string;
  /** What a new account begins with. */
  readonly credits: number;
  readonly plan: Plan;
  /** True: they are for people who have confirmed their address alone. */
  readonly needsVerification: boolean;
}

/**
 * Makes the account that a person has for themselves, unless there is one: at every sign-in, so that a person whose
 * sign-up ended half-way gets it at the next. An account of the same address that an operator has made stays untouched:
 * an address alone proves nothing.
 */
export async function ensurePersonalAccount(personId: string, options: PersonalAccountOptions): Promise<void> {
  await options.db.tx(async (tx) => {
    const person = await lockPerson(tx, personId);
    if (person === null) return;
    const accounts = await listAccountsOfPerson(tx, personId);
    if (accounts.some(({ isPersonal }) => isPersonal)) return;
    if ((await findAccountByName(tx, person.email)) !== null) return;
    const accountId = await makeAccount(tx, person, options);
    await insertMember(tx, { accountId, personId, role: "owner", isPersonal: true });
  });
}

async function makeAccount(
  tx: Tx,
  person: { readonly email: string; readonly name: string; readonly isVerified: boolean },
  { newId, credits: creditsOnce, plan: planOnce, needsVerification }: PersonalAccountOptions,
): Promise<string> {
  const hasBenefits = creditsOnce > 0 || planOnce !== "none";
  const isEntitled =
    hasBenefits && (person.isVerified || !needsVerification) && (await noteBenefits(tx, addressHash(person.email)));
  const [credits, plan] = isEntitled ? [creditsOnce, planOnce] : [0, "none" as const];
  const accountId = await createAccount(tx, newId, { email: person.email, displayName: person.name, plan });
  if (credits > 0) {
    const grant = { accountId, amount: credits, reason: "given at sign-up", idempotencyKey: "promptd:sign-up" };
    await grantCredits(tx, { ...grant, expiresAt: null });
  }
  return accountId;
}

/** Makes an account that nobody owns yet the person's own. Somebody else's stays theirs. */
export async function adoptAccount(db: Database, personId: string, accountId: string): Promise<void> {
  await db.tx(async (tx) => {
    await lockPerson(tx, personId);
    const owner = await findPersonOfAccount(tx, accountId);
    if (owner !== null) return;
    const accounts = await listAccountsOfPerson(tx, personId);
    const isPersonal = accounts.every((account) => !account.isPersonal);
    await insertMember(tx, { accountId, personId, role: "owner", isPersonal });
  });
}
