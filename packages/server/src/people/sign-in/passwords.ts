import { createHash, randomBytes } from "node:crypto";
import { systemClock } from "../../platform/clock.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { countAttempt, forgetAttempts } from "./rate-limit-store.ts";

/** NIST SP 800-63B-4, section 3.1.1.2: at least 15 without a second factor, 8 with one. 12 is in between. */
export const PASSWORD_LENGTHS = { min: 12, max: 128 } as const;

/** What is wrong with a new password; null: nothing. */
export function passwordFault(password: string): string | null {
  const { min, max } = PASSWORD_LENGTHS;
  if (password.length < min) return `password must have at least ${min} characters.`;
  return password.length > max ? `password must have at most ${max} characters.` : null;
}

/** Per hour and email address. NIST SP 800-63B-4, section 3.2.2, allows 100 consecutive failures. */
const TRIES_MAX = 50;
const TRIES_WINDOW_MS = 3_600_000;

/**
 * Counts an attempt at a person's password, from whatever address: many addresses may guess for one person. Attempts
 * for an unknown email address count too, so that the response does not reveal who has an account.
 * @returns why the attempt is refused; null: it is allowed.
 */
export async function countPasswordTry(db: Queryable, email: string): Promise<string | null> {
  const { count, msLeft } = await countAttempt(db, triesOf(email), TRIES_WINDOW_MS);
  if (count <= TRIES_MAX) return null;
  const minutes = Math.max(1, Math.ceil(msLeft / 60_000));
  return `There were ${TRIES_MAX} password attempts for this address within an hour, which is the limit. Try again in ${minutes} min, sign in without a password, or set a new one.`;
}

/** A person who set a new password through a link owns the mailbox, and need not wait because others guessed. */
export async function forgetPasswordTries(db: Queryable, email: string): Promise<void> {
  await forgetAttempts(db, triesOf(email));
}

/** Hashed, because people also type things that are not addresses. */
function triesOf(email: string): string {
  return `password:${createHash("sha256").update(email.trim().toLowerCase()).digest("base64url")}`;
}

/** Longer than an authenticator app's code is accepted: its own 30 seconds, and those before and after. */
const APP_CODE_MS = 120_000;

/** False: the code has signed this person in before, and somebody may have seen it then (RFC 6238, section 5.2). */
export async function takeAppCode(db: Queryable, personId: string, code: string): Promise<boolean> {
  return (await countAttempt(db, `app-code:${personId}:${code}`, APP_CODE_MS)).count === 1;
}

const RESET_SECONDS = 3_600;
const RESET_BYTES = 16;

/** The part of better-auth's store that a reset needs. */
interface ResetStore {
  findUserByEmail(email: string): Promise<{ readonly user: { readonly id: string } } | null>;
  createVerificationValue(row: { value: string; identifier: string; expiresAt: Date }): Promise<unknown>;
}

/** The token that better-auth accepts once for a new password; null: nobody has this address. */
export async function beginReset(store: ResetStore, email: string): Promise<string | null> {
  const known = await store.findUserByEmail(email);
  if (known === null) return null;
  const token = randomBytes(RESET_BYTES).toString("base64url");
  const expiresAt = new Date(systemClock.nowMs() + RESET_SECONDS * 1_000);
  await store.createVerificationValue({ value: known.user.id, identifier: `reset-password:${token}`, expiresAt });
  return token;
}
