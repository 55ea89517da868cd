/**
 * Changes a person's address. If there is mail, people change it themselves: a link goes to the new address, and once
 * it is opened they sign in with that address. An operator changes it without a link.
 */
import type { ChangedEmail, RequestedEmailChange } from "@promptd/contract/manage";
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { changeAccountEmail } from "../../accounts/index.ts";
import { systemClock } from "../../platform/clock.ts";
import type { Tx } from "../../platform/database/database.ts";
import { isUniqueViolation } from "../../platform/database/errors.ts";
import { invalid, Problem } from "../../platform/problem.ts";
import { addressChangedMail, addressTakenMail, newAddressMail } from "../mail/mail-texts.ts";
import { countAttempt } from "./rate-limit-store.ts";
import type { PeopleContext } from "../people-context.ts";
import { findPersonalAccount } from "../members-store.ts";
import { changePersonEmail, findPersonWithAddress, isAddressTaken } from "./email-change-store.ts";

const CODE_BYTES = 16;
const LINK_SECONDS = 3_600;
/** Per hour: nobody may try passwords through an open session, or flood strangers' mailboxes. */
const ASKED_MAX = 10;

/**
 * The content of a link. It stops working once the address or password changes: somebody else may have requested it.
 */
const changeSchema = z.object({
  personId: z.string(),
  from: z.string(),
  to: z.string(),
  passwordMark: z.string().nullable(),
});

/**
 * Sends a link to the new address. Whether the address is already taken is only revealed to its mailbox.
 * @param confirm throws a Problem unless it is certain that the person requests it.
 * @throws Problem VALIDATION_ERROR without mail, for the current address, and after too many requests.
 */
export async function requestEmailChange(
  personId: string,
  { email: to, confirm }: { readonly email: string; readonly confirm: () => Promise<void> },
  { db, sessions, publicUrl, mailer }: PeopleContext,
): Promise<RequestedEmailChange> {
  if (mailer === null)
    throw refusal(
      "email",
      "This server does not send email, so it cannot confirm an address. Ask an operator to change it.",
    );
  const person = await findPersonWithAddress(db, personId);
  if (person === null) throw new Error("The person of an admitted session does not exist.");
  const { email: from, passwordMark } = person;
  if (from === to) throw refusal("email", "This is already your address. Enter another one.");
  const { count } = await countAttempt(db, `email-change:${personId}`, LINK_SECONDS * 1_000);
  if (count > ASKED_MAX)
    throw refusal("email", `You can request at most ${ASKED_MAX} address changes per hour. Try again later.`);
  await confirm();
  const code = randomBytes(CODE_BYTES).toString("base64url");
  const expiresAt = new Date(systemClock.nowMs() + LINK_SECONDS * 1_000).toISOString();
  if (await isAddressTaken(db, to, personId)) await mailer.send(to, addressTakenMail());
  else {
    const change: z.output<typeof changeSchema> = { personId, from, to, passwordMark };
    await sessions.storeOnce(nameOf(code), JSON.stringify(change), LINK_SECONDS);
    await mailer.send(to, newAddressMail(`${publicUrl()}/new-address#${code}`));
  }
  return { personId, email: to, expiresAt };
}

/**
 * @throws Problem NOT_FOUND_ERROR for an invalid link, whatever the reason; VALIDATION_ERROR if the address has been
 * taken meanwhile.
 */
export async function confirmEmailChange(code: string, { db, sessions, mailer }: PeopleContext): Promise<ChangedEmail> {
  const taken = await sessions.takeOnce(nameOf(code));
  if (taken === null) throw uselessLink();
  const { personId, from, to, passwordMark } = changeSchema.parse(JSON.parse(taken));
  await db.tx(async (tx) => {
    const person = await findPersonWithAddress(tx, personId);
    if (person?.email !== from || person.passwordMark !== passwordMark) throw uselessLink();
    await changeEmail(tx, personId, { email: to, isVerified: true });
    await mailer?.write(tx, from, addressChangedMail(to));
  });
  mailer?.deliverSoon();
  return { personId, email: to };
}

/** Changes the address of the person and of their personal account. @throws Problem VALIDATION_ERROR if it is taken. */
export async function changeEmail(
  tx: Tx,
  personId: string,
  change: { readonly email: string; readonly isVerified: boolean },
): Promise<void> {
  const isFree = await takeAddress(tx, personId, change).catch((error: unknown) => {
    if (isUniqueViolation(error)) return false; // taken by somebody else meanwhile
    throw error;
  });
  if (isFree) return;
  const message = `Another person or account already has the address ${change.email.toLowerCase()}.`;
  throw refusal("email", message);
}

async function takeAddress(
  tx: Tx,
  personId: string,
  change: { readonly email: string; readonly isVerified: boolean },
): Promise<boolean> {
  if (!(await changePersonEmail(tx, personId, change))) return false;
  const accountId = await findPersonalAccount(tx, personId);
  return accountId === null || changeAccountEmail(tx, accountId, change.email);
}

function nameOf(code: string): string {
  return `email-change:${code}`;
}

function refusal(parameter: string, message: string): Problem {
  return invalid([{ path: ["body", parameter], code: "conflict", message }]);
}

function uselessLink(): Problem {
  const message =
    "This link is no longer valid. Links work once, expire after one hour, and stop working when the address or password changes. Request a new one in the settings.";
  return new Problem("NOT_FOUND_ERROR", message);
}
