import type { InvitationTerms } from "@promptd/contract/manage";
import { createAccount, findAccountByName, setPlan, type Plan } from "../accounts/index.ts";
import { grantCredits } from "../credits/index.ts";
import type { Database, Tx } from "../platform/database/database.ts";
import { addressHash } from "./end-account-access.ts";
import { noteBenefits } from "./end-account-access-store.ts";
import { findPersonalAccount, findPersonOfAccount, insertMember, listAccountsOfPerson } from "./members-store.ts";
import { lockPerson, type LockedPerson } from "./people-store.ts";

export interface PersonalAccountOptions {
  readonly db: Database;
  readonly newId: () => string;
  /** What a new account starts with. */
  readonly credits: number;
  readonly plan: Plan;
  /** True: only people who have confirmed their address get these. */
  readonly needsVerification: boolean;
}

/**
 * Makes a person's personal account unless it exists. Called at every sign-in, so that a person whose sign-up was
 * interrupted gets it at the next one. An account with the same address that an operator made stays untouched: an
 * address alone proves nothing.
 */
export async function ensurePersonalAccount(personId: string, options: PersonalAccountOptions): Promise<void> {
  await options.db.tx(async (tx) => {
    const person = await lockPerson(tx, personId);
    if (person === null || (await findPersonalAccount(tx, personId)) !== null) return;
    await makePersonalAccount(tx, person, AS_EVERYBODY, options);
  });
}

const AS_EVERYBODY: InvitationTerms = { plan: null, credits: null };

/**
 * Makes the account of a person who accepts an invitation, with what the invitation grants. If the account already
 * exists, as after an interrupted acceptance, it gets the credits and the plan, and loses nothing.
 */
export async function admitInvited(
  tx: Tx,
  { personId, invitationId, ...terms }: InvitationTerms & { readonly personId: string; readonly invitationId: string },
  options: PersonalAccountOptions,
): Promise<void> {
  const person = await lockPerson(tx, personId);
  if (person === null) return;
  const own = (await listAccountsOfPerson(tx, personId)).find(({ isPersonal }) => isPersonal);
  const accountId = own?.accountId ?? (await makePersonalAccount(tx, person, terms, options));
  if (accountId === null) return;
  if (own?.hasPlan === false && terms.plan === "pro") await setPlan(tx, accountId, { plan: "pro", untilMs: null });
  if (terms.credits === null || terms.credits === 0) return;
  const grant = { accountId, amount: terms.credits, idempotencyKey: `promptd:invitation:${invitationId}` };
  await grantCredits(tx, { ...grant, reason: "given with the invitation", expiresAt: null });
}

/** Null: an operator has already made an account with this address. */
async function makePersonalAccount(
  tx: Tx,
  person: LockedPerson,
  terms: InvitationTerms,
  options: PersonalAccountOptions,
): Promise<string | null> {
  if ((await findAccountByName(tx, person.email)) !== null) return null;
  const everybodys = await takeBenefits(tx, person, options);
  const plan = terms.plan ?? everybodys.plan;
  const { personId, email, name: displayName } = person;
  const accountId = await createAccount(tx, options.newId, { email, displayName, plan });
  await insertMember(tx, { accountId, personId, role: "owner", isPersonal: true });
  if (terms.credits === null && everybodys.credits > 0) {
    const grant = { accountId, amount: everybodys.credits, reason: "given at sign-up", expiresAt: null };
    await grantCredits(tx, { ...grant, idempotencyKey: "promptd:sign-up" });
  }
  return accountId;
}

/** What every new person gets, once per address, even in addition to an invitation that grants something else. */
async function takeBenefits(
  tx: Tx,
  person: LockedPerson,
  { credits, plan, needsVerification }: PersonalAccountOptions,
): Promise<{ readonly credits: number; readonly plan: Plan }> {
  const hasBenefits = credits > 0 || plan !== "none";
  const isEntitled =
    hasBenefits && (person.isVerified || !needsVerification) && (await noteBenefits(tx, addressHash(person.email)));
  return isEntitled ? { credits, plan } : { credits: 0, plan: "none" };
}

/** Makes an account without an owner the person's own. An account of another person stays theirs. */
export async function adoptAccount(tx: Tx, personId: string, accountId: string): Promise<void> {
  await lockPerson(tx, personId);
  const owner = await findPersonOfAccount(tx, accountId);
  if (owner !== null) return;
  const isPersonal = (await findPersonalAccount(tx, personId)) === null;
  await insertMember(tx, { accountId, personId, role: "owner", isPersonal });
}
