/**
 * Invitations: a link that makes somebody a member of an account, or gives them an account of their own. Anyone who
 * opens the link is taken to be the invited person: it goes to their address, or is handed over in person.
 */
import type { Accepted, CreatedInvitation, Invitation } from "@promptd/contract/manage";
import { randomBytes } from "node:crypto";
import { findAccount } from "../../accounts/index.ts";
import type { Database, Tx } from "../../platform/database/database.ts";
import { invalid, Problem } from "../../platform/problem.ts";
import { invitationMail } from "../mail/mail-texts.ts";
import {
  findOpenInvitation,
  insertInvitation,
  useInvitation,
  type InvitationToInsert,
  type OpenInvitation,
} from "./invitations-store.ts";
import type { PeopleContext } from "../people-context.ts";
import { insertMember } from "../members-store.ts";
import { findPerson, findPersonByEmail, insertPerson, updatePassword } from "../people-store.ts";
import { admitInvited } from "../personal-account.ts";
import type { BrowserOfSession } from "../sign-in/sessions.ts";
import { passwordFault } from "../sign-in/passwords.ts";
import { hashCode } from "./sign-in-codes.ts";

const CODE_BYTES = 16;
const DAYS = 7;
/** Per account within these days: nobody may flood strangers' mailboxes or the operator's mail server. */
const INVITATIONS_MAX = 50;

export async function invite(
  given: Omit<InvitationToInsert, "invitationId" | "codeHash" | "days" | "isMailed">,
  { db, newId, publicUrl, mailer }: PeopleContext,
): Promise<CreatedInvitation> {
  const code = randomBytes(CODE_BYTES).toString("base64url");
  const row = { ...given, invitationId: newId(), codeHash: hashCode(code), days: DAYS, isMailed: mailer !== null };
  const invitation = await db.tx((tx) => insertInvitation(tx, row, INVITATIONS_MAX));
  if (invitation === null) throw tooManyInvitations();
  const link = `${publicUrl()}/invitation#${code}`;
  if (mailer === null) return { ...invitation, link };
  await mailer.send(given.email, invitationMail({ ...(await describeInvitation(db, given)), link, days: DAYS }));
  return { ...invitation, link: null };
}

function tooManyInvitations(): Problem {
  const message = `This account has reached the limit of ${INVITATIONS_MAX} invitations in ${DAYS} days. Try again in a week.`;
  return invalid([{ path: ["body", "email"], code: "too_many", message }]);
}

/** The inviting person and the account, as a mail and the link's page name them. */
async function describeInvitation(
  db: Database,
  { accountId, invitedBy }: { readonly accountId: string | null; readonly invitedBy: string },
): Promise<{ readonly account: string | null; readonly invitedBy: string }> {
  const [account, person] = await Promise.all([
    accountId === null ? null : findAccount(db, accountId),
    findPerson(db, invitedBy),
  ]);
  const name = account === null ? null : (account.displayName ?? account.username ?? account.email);
  return { account: name, invitedBy: person?.name ?? "Somebody" };
}

interface Acceptance {
  readonly data: Accepted;
  readonly cookies: string[];
}

/**
 * Lets a new person in. A person who already exists must sign in first: an invitation does not open their existing
 * access.
 * @throws Problem NOT_FOUND_ERROR for an invalid code, VALIDATION_ERROR for an unacceptable password.
 */
export async function acceptInvitation(
  body: { readonly code: string; readonly name?: string | undefined; readonly password?: string | undefined },
  browser: BrowserOfSession,
  options: PeopleContext,
): Promise<Acceptance> {
  const { db, sessions } = options;
  const hash = hashCode(body.code);
  const open = await requireOpen(db, hash);
  const { email, isMailed } = open;
  const offer = { email, ...(await describeInvitation(db, open)) };
  const signInFirst: Acceptance = { data: { kind: "sign_in", ...offer }, cookies: [] };
  if ((await findPersonByEmail(db, email)) !== null) return signInFirst;
  if (options.config.PROMPTD_SIGN_UP === "off")
    throw new Problem("NOT_FOUND_ERROR", "Sign-up is by invitation only. Ask an operator for an invitation.");
  const { name, password } = body;
  if (name === undefined || password === undefined) return { data: { kind: "set_up", ...offer }, cookies: [] };
  const fault = passwordFault(password);
  if (fault !== null) throw invalid([{ path: ["body", "password"], code: "invalid_value", message: fault }]);
  // A link that was only mailed was opened by somebody who receives the mail of this address.
  const person = { personId: options.newId(), email, name, isVerified: isMailed };
  const passwordHash = await sessions.hashPassword(password);
  const invitation = await db.tx(async (tx) => {
    if (!(await insertPerson(tx, person))) return null; // the same form, sent twice
    await updatePassword(tx, person.personId, passwordHash);
    return admitMember(tx, hash, person.personId, options);
  });
  if (invitation === null) return signInFirst;
  const { personId } = person;
  const cookies = await sessions.signIn(personId, browser);
  return { data: { kind: "signed_in", personId, accountId: invitation.accountId }, cookies };
}

/** Returns the invitation's account, for the person with its address. @throws Problem as for an invalid code. */
export async function joinAccount(code: string, personId: string, options: PeopleContext): Promise<string | null> {
  const { db } = options;
  const hash = hashCode(code);
  const [{ email }, person] = [await requireOpen(db, hash), await findPerson(db, personId)];
  if (person?.email !== email) {
    const message =
      "This invitation is for another email address. Sign in as that person, or ask for a new invitation.";
    throw invalid([{ path: ["body", "code"], code: "conflict", message }]);
  }
  return (await db.tx((tx) => admitMember(tx, hash, personId, options))).accountId;
}

/** Consumes the code, for what it grants. @throws Problem if somebody else was first. */
async function admitMember(tx: Tx, hash: Buffer, personId: string, { newAccount }: PeopleContext): Promise<Invitation> {
  const invitation = await useInvitation(tx, hash, personId);
  if (invitation === null) throw uselessCode();
  const { accountId, role } = invitation;
  if (accountId !== null) await insertMember(tx, { accountId, personId, role, isPersonal: false });
  else await admitInvited(tx, { ...invitation, personId }, newAccount);
  return invitation;
}

async function requireOpen(db: Database, hash: Buffer): Promise<OpenInvitation> {
  const invitation = await findOpenInvitation(db, hash);
  if (invitation === null) throw uselessCode();
  return invitation;
}

/** Unknown, used, revoked, and expired codes all get the same response. */
function uselessCode(): Problem {
  return new Problem(
    "NOT_FOUND_ERROR",
    `This invitation is no longer valid. Invitations work once, expire after ${DAYS} days, and can be revoked. Ask for a new one.`,
  );
}
