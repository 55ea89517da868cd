/** Calls better-auth's endpoints, which have their own format: signing in, out, and up, and what builds on that. */

const SERVICES: Readonly<Record<string, string>> = { github: "GitHub", google: "Google" };

/** The name that people know a sign-in service by. */
export const serviceName = (provider: string, { oidcName }: { readonly oidcName: string | null }) =>
  SERVICES[provider] ?? oidcName ?? provider;

const USED_LINK = "This link is no longer valid. Request a new one.";
export const UNCONFIRMED = "Your email address is not confirmed yet. Open the link we just sent you to sign in.";
const SENTENCES: Readonly<Record<string, string>> = {
  EMAIL_NOT_VERIFIED: UNCONFIRMED,
  PROVIDER_NOT_FOUND: "The sign-in service cannot be reached right now. Try again later, or sign in another way.",
  INVALID_PASSWORD: "This is not your password. Try again.",
  INVALID_TOKEN: USED_LINK,
  TOKEN_EXPIRED: "This link has expired. Links are valid for one hour. Sign in, and we’ll send you a new one.",
};

export class SignedOutError extends Error {}

/** @throws Error with a message to show. */
export async function askAuth<Answer>(path: string, body?: unknown): Promise<Answer> {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(`/manage/auth/${path}`, {
    ...sent,
    headers: { "content-type": "application/json" },
  }).catch(() => null);
  if (answer === null) throw new Error("The server could not be reached. Check the connection, then try again.");
  const answered = (await answer.json().catch(() => null)) as Answer & {
    readonly message?: unknown;
    readonly code?: unknown;
  };
  if (answer.ok) return answered;
  if (answered?.code === "UNAUTHORIZED") throw new SignedOutError();
  const sentence = typeof answered?.code === "string" ? SENTENCES[answered.code] : undefined;
  if (sentence !== undefined) throw new Error(sentence);
  if (answer.status === 429 && answered?.code === undefined)
    throw new Error("Too many attempts. Wait a minute, then try again.");
  const message =
    typeof answered?.message === "string" ? answered.message : `The server responded with HTTP ${answer.status}.`;
  throw new Error(/[.!?]$/.test(message) ? message : `${message}.`);
}

/** `second_factor`: the password is right, and a code from the authenticator app is needed. */
export async function signIn(email: string, password: string): Promise<"signed_in" | "second_factor"> {
  const answer = await askAuth<{ readonly twoFactorRedirect?: boolean } | null>("sign-in/email", {
    email,
    password,
    rememberMe: true,
  });
  return answer?.twoFactorRedirect === true ? "second_factor" : "signed_in";
}

/** Uses a code from the app or a backup code. Backup codes contain a dash and work once. */
export async function confirmSignIn(code: string): Promise<void> {
  const isBackup = code.includes("-");
  await askAuth(isBackup ? "two-factor/verify-backup-code" : "two-factor/verify-totp", { code });
}

/** `confirm`: a link to confirm the address is on its way. */
export async function signUp(person: {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}): Promise<"signed_in" | "confirm"> {
  await askAuth("sign-up/email", person);
  return (await askAuth("get-session")) === null ? "confirm" : "signed_in";
}

/** `confirmed`: the same link already confirmed the address earlier. */
export async function confirmAddress(token: string): Promise<"signed_in" | "confirmed"> {
  await askAuth(`verify-email?token=${encodeURIComponent(token)}`);
  return (await askAuth("get-session")) === null ? "confirmed" : "signed_in";
}

/** Returns the sign-in service's address. Errors there lead back to the sign-in page, with `error` in its address. */
export async function serviceAddress(provider: string, from: string): Promise<string> {
  const { url } = await askAuth<{ readonly url: string }>("sign-in/social", {
    provider,
    callbackURL: from,
    errorCallbackURL: "/sign-in",
  });
  return url;
}

export async function signOut(): Promise<void> {
  await askAuth("sign-out", {});
}

const HERE = "http://console.invalid";

/**
 * Allows only paths of this console, so that no link can redirect a person elsewhere. Parses like browsers, which drop
 * tabs and line breaks.
 */
export function ownPath(from: string | undefined): string {
  if (from?.startsWith("/") !== true || !URL.canParse(from, HERE)) return "/";
  const { origin, pathname, search, hash } = new URL(from, HERE);
  return origin === HERE && !pathname.startsWith("//") ? pathname + search + hash : "/";
}

/** The text of a form field. Files count as empty. */
export function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}
