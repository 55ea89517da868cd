import { createHash } from "node:crypto";
import type { Queryable } from "../../platform/database/database.ts";
import { countAttempt, forgetAttempts } from "./rate-limit-store.ts";

/** NIST SP 800-63B-4, section 3.1.1.2: 15 where a password stands alone, 8 beside a second factor. 12 is between them. */
export const PASSWORD_LENGTHS = { min: 12, max: 128 } as const;

/** What is wrong with a new password; null: nothing. */
export function passwordFault(password: string): string | null {
  const { min, max } = PASSWORD_LENGTHS;
  if (password.length < min) return `password must have at least ${min} characters.`;
  return password.length > max ? `password must have at most ${max} characters.` : null;
}

/** In an hour, for one email address. NIST SP 800-63B-4, section 3.2.2, allows 100 failures in a row. */
const TRIES_MAX = 50;
const TRIES_WINDOW_MS = 3_600_000;

/**
 * Counts a try of somebody's password, whoever tries it from wherever: many addresses may guess for one person. An address
 * that nobody has counts as well, so that the answer does not say who is here.
 * @returns why it is refused; null: it is not.
 */
export async function countPasswordTry(db: Queryable, email: string): Promise<string | null> {
  const { count, msLeft } = await countAttempt(db, triesOf(email), TRIES_WINDOW_MS);
  if (count <= TRIES_MAX) return null;
  const minutes = Math.max(1, Math.ceil(msLeft / 60_000));
  return `There were ${TRIES_MAX} password attempts for this address within an hour, which is the limit. Try again in ${minutes} min, sign in without a password, or set a new one.`;
}

/** Who has set a new password by a link has the mailbox: they need not wait for those who guessed. */
export async function forgetPasswordTries(db: Queryable, email: string): Promise<void> {
  await forgetAttempts(db, triesOf(email));
}

/** Hashed: people type other things than addresses, too. */
function triesOf(email: string): string {
  return `password:${createHash("sha256").update(email.trim().toLowerCase()).digest("base64url")}`;
}
