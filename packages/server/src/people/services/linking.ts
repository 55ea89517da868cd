/** What must hold before a person adds or removes a way to sign in. */
import { systemClock } from "../../platform/clock.ts";

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** How long after signing in a person without a password counts as confirmed. */
const RECENT_MS = 3_600_000;

/**
 * Somebody who finds an open browser must not be able to add or remove a way to sign in. So a person confirms it with
 * their password, or, without one, by having signed in within the last hour.
 * @param isPassword whether the given password is theirs; null: they have none.
 */
export async function refuseUnconfirmed(
  signedInAt: Date,
  isPassword: (() => Promise<boolean>) | null,
): Promise<Refusal | null> {
  if (isPassword !== null) {
    const message = "This is not your password. Enter the one you sign in with now.";
    return (await isPassword()) ? null : { code: "INVALID_PASSWORD", message };
  }
  if (systemClock.nowMs() - signedInAt.getTime() <= RECENT_MS) return null;
  const message = "You signed in more than an hour ago. Sign out, sign in again, then repeat this within an hour.";
  return { code: "SIGN_IN_TOO_OLD", message };
}

/** Refuses to remove the last way to sign in. The library would not count passkeys. */
export async function refuseLastLogin(
  logins: readonly unknown[],
  hasPasskey: () => Promise<boolean>,
): Promise<Refusal | null> {
  if (logins.length > 1 || (await hasPasskey())) return null;
  const message = "This is your only way to sign in. Add a passkey or set a password first.";
  return { code: "LAST_WAY_IN", message };
}

/** Whether the address of an account at a service counts as confirmed, in the form that the library requires. */
export interface ConfirmedProfile {
  /** True: a person whose address is not confirmed is not signed in. */
  readonly requireEmailVerification: boolean;
  /** What replaces the service's own claim. */
  readonly mapProfileToUser: () => Promise<{ readonly emailVerified?: true }>;
}

/**
 * A service is linked to the signed-in person whether or not it has confirmed its address: they have proved to be both,
 * and the address is not used. The library would refuse.
 */
export function confirmWhen(isLinking: () => Promise<boolean>): ConfirmedProfile["mapProfileToUser"] {
  return async () => ((await isLinking()) ? { emailVerified: true } : {});
}
