/** What must hold before a person links or unlinks a sign-in service. */
import { systemClock } from "../../platform/clock.ts";

/** A way to sign in, other than passkeys. */
export interface Login {
  readonly id: string;
  readonly providerId: string;
  readonly password?: string | null | undefined;
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** How long after signing in a person without a password counts as confirmed. */
const RECENT_MS = 3_600_000;

/**
 * Somebody who finds an open browser must not be able to add or remove a way to sign in. So a person confirms it with
 * their password, or, without one, by having signed in within the last hour.
 * @param isPassword whether the given password has this hash.
 */
export async function refuseUnconfirmed(
  logins: readonly Login[],
  signedInAt: Date,
  isPassword: (hash: string) => Promise<boolean>,
): Promise<Refusal | null> {
  const hash = logins.find(({ providerId }) => providerId === "credential")?.password;
  if (typeof hash === "string") {
    return (await isPassword(hash)) ? null : { code: "INVALID_PASSWORD", message: "Invalid password" };
  }
  if (systemClock.nowMs() - signedInAt.getTime() <= RECENT_MS) return null;
  const message = "You signed in more than an hour ago. Sign out, sign in again, then repeat this within an hour.";
  return { code: "SIGN_IN_TOO_OLD", message };
}

/** Refuses to remove the last way to sign in. The library would not count passkeys. */
export async function refuseLastLogin(
  logins: readonly Login[],
  hasPasskey: () => Promise<boolean>,
): Promise<Refusal | null> {
  if (logins.length > 1 || (await hasPasskey())) return null;
  const message = "This is your only way to sign in. Add a passkey or set a password first.";
  return { code: "LAST_WAY_IN", message };
}
