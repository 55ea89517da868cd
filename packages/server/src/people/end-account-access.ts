/** What leaves with an account: the ways into it, and the person whose own it is. */
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
import { listMembers, lockOperators } from "./members-store.ts";

/**
 * Ends every way into an account. Who owns it alone leaves the installation with it.
 * @param actorId the person who asks for it; null: an operator.
 * @throws Problem VALIDATION_ERROR when somebody else would be left without an owner, or all without an operator, and
 *   when it is another person's own account: with it goes their sign-in everywhere.
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
 * An address as its sign-up benefits are remembered by: without what follows a plus sign, which makes as many addresses as
 * anybody likes of one mailbox.
 */
export function addressHash(email: string): Buffer {
  const [local = "", domain = ""] = email.toLowerCase().split("@");
  return createHash("sha256")
    .update(`sign-up:${local.replace(/\+.*$/, "")}@${domain}`)
    .digest();
}

/** Members, tokens and invitations of an account, for its export. */
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
