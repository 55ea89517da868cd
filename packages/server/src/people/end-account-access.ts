/** What leaves with an account: every way into it, and the person whose personal account it is. */
import { createHash } from "node:crypto";
import type { Database, Tx } from "../platform/database/database.ts";
import { invalid } from "../platform/problem.ts";
import {
  listInvitationsOfAccount,
  listOrphans,
  listTokensOfAccount,
  lockPersonOf,
  noteBenefits,
  removeAccess,
  removePerson,
} from "./end-account-access-store.ts";
import { listMembers } from "./members-store.ts";
import { lockOperators } from "./people-store.ts";

/**
 * Ends every way into an account. If it is a personal account, its person leaves the installation too.
 * @param actorId the person who asks for it; null: an operator.
 * @throws Problem VALIDATION_ERROR if another account would be left without an owner, or the installation without an
 * operator, or if this is another person's personal account: deleting it would end that person's sign-in everywhere.
 */
export async function endAccountAccess(tx: Tx, accountId: string, actorId: string | null): Promise<void> {
  const operators = await lockOperators(tx);
  const person = await lockPersonOf(tx, accountId);
  if (person !== null) {
    if (actorId !== null && actorId !== person.personId) {
      throw conflict("This is another person's personal account. Only that person or an operator can delete it.");
    }
    if (operators.length === 1 && operators[0] === person.personId) {
      throw conflict("The account belongs to the only operator. Make someone else an operator first.");
    }
    const orphans = await listOrphans(tx, { personId: person.personId, accountId });
    if (orphans.length > 0) {
      const names = orphans.join(", ");
      throw conflict(`Nobody else owns ${names}. Make another member an owner there, or delete it first.`);
    }
    await noteBenefits(tx, addressHash(person.email));
    await removePerson(tx, person);
  }
  await removeAccess(tx, accountId);
}

/**
 * The form in which an address is remembered for sign-up benefits: without anything after a plus sign, because that
 * would give any number of addresses to one mailbox.
 */
export function addressHash(email: string): Buffer {
  const [local = "", domain = ""] = email.toLowerCase().split("@");
  return createHash("sha256")
    .update(`sign-up:${local.replace(/\+.*$/, "")}@${domain}`)
    .digest();
}

/** The members, tokens, and invitations of an account, for its export. */
export async function describeAccess(db: Database, accountId: string): Promise<Record<string, unknown>> {
  const [members, tokens, invitations] = await Promise.all([
    listMembers(db, accountId),
    listTokensOfAccount(db, accountId),
    listInvitationsOfAccount(db, accountId),
  ]);
  return { members, tokens, invitations };
}

function conflict(message: string) {
  return invalid([{ path: ["body"], code: "conflict", message }]);
}
