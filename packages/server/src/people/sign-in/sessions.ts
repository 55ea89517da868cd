/**
 * Sessions and ways to sign in, through better-auth: the only file that imports it. It serves HTTP under /manage/auth,
 * where pages sign in and out. The rest of the slice uses it to begin sessions, and for passwords and one-time texts.
 */
import type { BetterAuthOptions } from "better-auth";
import { betterAuth } from "better-auth/minimal";
import {
  createAuthEndpoint,
  createAuthMiddleware,
  getOAuthState,
  getSessionFromCtx,
  APIError,
  isAPIError,
} from "better-auth/api";
import { createAdapterFactory } from "better-auth/adapters";
import { setSessionCookie } from "better-auth/cookies";
import { symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";
import { genericOAuth } from "better-auth/plugins/generic-oauth";
import { twoFactor } from "better-auth/plugins/two-factor";
import { z } from "zod";
import { systemClock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import { confirmationOf, confirmationPage } from "../mail/confirmation-link.ts";
import { confirmWhen, refuseLastLogin, refuseUnconfirmed, type ConfirmedProfile } from "../services/linking.ts";
import { oidcConfig, type OidcProvider } from "../services/oidc-provider.ts";
import { deleteResetLinks, FROZEN, hasSecondFactor, isFrozenPerson } from "../people-store.ts";
import { authRows } from "./auth-rows-store.ts";
import { MODELS, TWO_FACTOR_TABLES } from "./auth-tables.ts";
import { listCredentials } from "./passkeys-store.ts";
import { beginReset, countPasswordTry, forgetPasswordTries, PASSWORD_LENGTHS, takeAppCode } from "./passwords.ts";
import { DISABLED_PATHS, findFault, isForFrozen, readPersonName } from "./refused-requests.ts";
import type { AuthSecrets } from "../secrets/auth-secrets.ts";
import { limiterOfAttempts } from "./rate-limit-store.ts";
import { cookiePrefix, isSecure } from "./session-cookie.ts";
import type { SessionsOptions } from "../sessions-options.ts";

/** Header that passes the peer's address to better-auth: callers could fake a header of their own. */
const ADDRESS_HEADER = "x-promptd-address";

const addressOf = (headers: Headers | undefined) => headers?.get(ADDRESS_HEADER) ?? null;

export interface Sessions {
  /** Handles a request under /manage/auth. `address`: the peer's address. */
  handle(request: Request, address: string): Promise<Response>;
  /** False: the password differs, or the person has none. */
  isPasswordOf(personId: string, password: string): Promise<boolean>;
  /** The form in which a password is stored. */
  hashPassword(password: string): Promise<string>;
  /** Stores a text for this long under a secret name, of which only the hash is stored. */
  storeOnce(name: string, text: string, seconds: number): Promise<void>;
  /**
   * Takes the stored text; only one of several concurrent callers gets it. Null: nothing is stored, or it has expired.
   */
  takeOnce(name: string): Promise<string | null>;
  /** Begins a session. @returns the Set-Cookie values that make a browser part of it. */
  signIn(personId: string, browser: BrowserOfSession): Promise<string[]>;
}

/** Where a session begins, as shown to its person in a list. */
export interface BrowserOfSession {
  readonly address: string;
  readonly userAgent: string | null;
}

/** How long a provider's discovery document is used before it is fetched again. */
const DISCOVERY_AGE_MAX_MS = 600_000;

export function createSessions(options: SessionsOptions): Sessions {
  let made: { readonly url: string; readonly atMs: number; readonly auth: ReturnType<typeof createAuth> } | null = null;
  /**
   * Created at first use, and again if the address has changed, as it does when the port becomes known. better-auth
   * never fetches a usable discovery document again, so with a provider it is also created again when the document is
   * old: the provider's addresses and algorithms change without a restart of ours.
   */
  const get = () => {
    const [url, nowMs] = [options.publicUrl(), systemClock.nowMs()];
    const isOld = options.oidc !== null && made !== null && nowMs - made.atMs > DISCOVERY_AGE_MAX_MS;
    if (made?.url !== url || isOld) made = { url, atMs: nowMs, auth: createAuth(options, url) };
    return made.auth;
  };
  return {
    async handle(request, address) {
      const headers = new Headers(request.headers);
      headers.set(ADDRESS_HEADER, address);
      return get().handler(new Request(request, { headers }));
    },
    async isPasswordOf(personId, password) {
      return (await get().api.checkPassword({ body: { personId, password } })).isRight;
    },
    async hashPassword(password) {
      return (await get().$context).password.hash(password);
    },
    async storeOnce(name, text, seconds) {
      const { internalAdapter } = await get().$context;
      const expiresAt = new Date(systemClock.nowMs() + seconds * 1_000);
      await internalAdapter.createVerificationValue({ identifier: name, value: text, expiresAt });
    },
    async takeOnce(name) {
      const { internalAdapter } = await get().$context;
      const taken = await internalAdapter.consumeVerificationValue(name);
      return taken !== null && taken.expiresAt.getTime() > systemClock.nowMs() ? taken.value : null;
    },
    async signIn(personId, { address, userAgent }) {
      const headers = new Headers({ [ADDRESS_HEADER]: address });
      if (userAgent !== null) headers.set("user-agent", userAgent);
      const answer = await get().api.beginSession({ body: { personId }, headers, returnHeaders: true });
      return answer.headers.getSetCookie();
    },
  };
}

function createAuth(options: SessionsOptions, url: string) {
  const { log, secrets, newId } = options;
  const requireEmailVerification = options.onVerificationRequested !== null;
  const isLinking = async () => (await getOAuthState())?.link !== undefined;
  const confirmed = { requireEmailVerification, mapProfileToUser: confirmWhen(isLinking) };
  const services = Object.entries(options.services).map(([name, one]) => [name, { ...one, ...confirmed }]);
  return betterAuth({
    appName: "promptd",
    baseURL: url,
    basePath: "/manage/auth",
    secret: secrets[0].value, // decrypts what was stored before secrets had versions
    secrets: [...secrets],
    database: adapterOf(options.db),
    ...MODELS,
    account: {
      ...MODELS.account,
      // The person is signed in to both, so the addresses need not be the same. The last way to sign in is ours to check.
      accountLinking: { allowDifferentEmails: true, allowUnlinkingAll: true },
    },
    session: { ...MODELS.session, freshAge: 0 }, // people confirm changes of their ways to sign in: see confirmPerson
    // A page served by this server has our origin, whatever name it was reached by, such as localhost.
    trustedOrigins: (request) => (request === undefined ? [] : ownOrigins(request)),
    emailAndPassword: {
      enabled: true,
      minPasswordLength: PASSWORD_LENGTHS.min,
      maxPasswordLength: PASSWORD_LENGTHS.max,
      revokeSessionsOnPasswordReset: true,
      onPasswordReset: async ({ user }, request) => {
        await forgetPasswordTries(options.db, user.email);
        await deleteResetLinks(options.db, user.id);
        await options.onPasswordReset(user.id, addressOf(request?.headers));
      },
      requireEmailVerification,
      onExistingUserSignUp: ({ user }) => options.onTakenAddress(user.email),
    },
    ...confirmationOf(options.onVerificationRequested, url),
    hooks: { before: beforeActions(options, url) },
    disabledPaths: DISABLED_PATHS,
    // A reset token opens an account for an hour, so only its hash is stored.
    verification: { ...MODELS.verification, storeIdentifier: "hashed" },
    socialProviders: Object.fromEntries(services),
    rateLimit: { enabled: true, customStorage: limiterOfAttempts(options.db) },
    advanced: {
      // Where NODE_ENV is "test", better-auth skips these checks unless they are requested.
      disableOriginCheck: false,
      disableCSRFCheck: false,
      cookiePrefix: cookiePrefix(url),
      useSecureCookies: false, // would put another prefix in front of ours
      defaultCookieAttributes: { secure: isSecure(url) },
      database: { generateId: newId },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
    },
    databaseHooks: rowHooks(options),
    plugins: [
      ownActions,
      ...(options.oidc === null ? [] : [oidcPlugin(options.oidc, confirmed)]),
      twoFactor({ issuer: "promptd", schema: TWO_FACTOR_TABLES }),
    ],
    telemetry: { enabled: false },
    // The library also logs callers' mistakes as errors; its own errors arrive in `onError`.
    logger: { level: "warn", log: (_level, message, ...rest) => options.onLibraryWarning(message, rest) },
    onAPIError: {
      // For a person who comes back too late, or in another browser.
      errorURL: `${url}/sign-in`,
      onError: (error) => {
        if (isAPIError(error) && error.statusCode < 500) return; // the request's log line has its status
        log.error({ err: error }, "a request to sign in or out failed");
      },
    },
  });
}

/**
 * Supports any OpenID Connect provider through its discovery document. The plugin would fetch that at startup, without
 * a time limit, and everyone's sign-in would wait for it. Here it is fetched when somebody signs in with this provider,
 * for at most ten seconds, which is also what the plugin does after a failed start.
 */
function oidcPlugin(oidc: OidcProvider, confirmed: ConfirmedProfile) {
  const provider = oidcConfig(oidc, confirmed);
  const pending = { genericOAuthPendingDiscovery: new Map([[provider.providerId, provider]]) };
  return { ...genericOAuth({ config: [provider] }), init: () => ({ context: pending }) };
}

/** Runs before better-auth writes a row. */
function rowHooks({
  db,
  refuseSignUp,
  onSignIn,
  onServiceLinked,
}: SessionsOptions): NonNullable<BetterAuthOptions["databaseHooks"]> {
  return {
    user: {
      create: {
        before: async (user) => {
          const reason = await refuseSignUp({ email: user.email, isVerified: user.emailVerified });
          if (reason !== null) throw signUpRefused(reason);
          const read = readPersonName(user.name); // a service may know no name, or a longer one
          return { data: { ...user, name: "name" in read ? read.name : user.email.replace(/@.*/, "") } };
        },
      },
    },
    account: {
      create: {
        before: withoutTokens,
        after: async ({ userId, providerId }, context) => {
          if (providerId !== "credential") await onServiceLinked(userId, addressOf(context?.headers));
        },
      },
      update: { before: withoutTokens },
    },
    session: {
      create: {
        before: async ({ userId }, context) => {
          if (context?.path === CODE_PATH && context.context.session === null) {
            const isFirst = await takeAppCode(db, userId, String(context.body?.code));
            if (!isFirst) throw new APIError("UNAUTHORIZED", { code: "CODE_USED", message: CODE_USED });
          }
          if (context?.path === CONFIRM_PATH && (await hasSecondFactor(db, userId)))
            throw new APIError("UNAUTHORIZED", {
              code: "SECOND_FACTOR",
              message: "Your address is confirmed. Sign in.",
            });
          if (context?.path === CHANGE_PATH) await deleteResetLinks(db, userId); // the session that stays is a new one
          await onSignIn(userId);
        },
      },
    },
  };
}

/** Nothing here calls a sign-in service on a person's behalf, so nothing that could is stored. */
async function withoutTokens<Login extends object>(login: Login) {
  return { data: { ...login, accessToken: null, refreshToken: null, idToken: null } };
}

function signUpRefused(message: string): APIError {
  return new APIError("FORBIDDEN", { code: "SIGN_UP_REFUSED", message });
}

const CONFIRM_PATH = "/verify-email"; // signs a new person in, but nobody past their second factor
const CODE_PATH = "/two-factor/verify-totp";
const CODE_USED = "This code was already used. Sign in again with the next code from your app.";
const SIGN_UP_PATH = "/sign-up/email";
const CHANGE_PATH = "/change-password";
/** Paths where a password is tried: all except codes. */
const PASSWORD_PATH = /^\/(sign-in\/email|change-password|link-social|unlink-account|two-factor\/(?!verify-).+)$/;
const NAMING_PATHS = new Set<string | undefined>([SIGN_UP_PATH, "/update-user"]);
const LINK_PATH = "/link-social";
const UNLINK_PATH = "/unlink-account";
const RESET_PATH = "/request-password-reset";

/**
 * - Limits how often a person's password is tried, from any number of addresses.
 * - Refuses closed sign-up before looking anybody up, so that the response does not reveal who has an account here.
 * - Answers every reset request immediately and identically, before looking anybody up: neither the response nor its
 *   timing reveals who has an account here. better-auth's own handling would take longer for known people.
 * - Refuses every change by a frozen person.
 * - Lets only a confirmed person link and unlink sign-in services.
 * - Makes every password change end all other sessions: it would be useless while a thief's session continues.
 * - Accepts only names that others may be shown.
 * - Redirects people who open a confirmation link directly to its page.
 */
function beforeActions({ db, log, hasMail, closedSignUp, onResetRequested }: SessionsOptions, url: string) {
  return createAuthMiddleware(async (context) => {
    const fault = findFault(context);
    if (fault !== null) throw new APIError("BAD_REQUEST", { code: "NOT_ACCEPTED", message: fault });
    const page = confirmationPage(context, url);
    if (page !== null) throw context.redirect(page);
    if (!isForFrozen(context.path)) await refuseFrozen(context, db);
    if (context.path === SIGN_UP_PATH && closedSignUp !== null) throw signUpRefused(closedSignUp);
    if (PASSWORD_PATH.test(context.path)) await boundTries(context, db);
    if (context.path === LINK_PATH || context.path === UNLINK_PATH) await confirmPerson(context, db);
    if (context.path === CHANGE_PATH) return { context: { body: { ...context.body, revokeOtherSessions: true } } };
    if (NAMING_PATHS.has(context.path)) return { context: { body: nameOf(context.body) } }; // merged into the request body
    if (context.path !== RESET_PATH) return null;
    const given = z.object({ email: z.email() }).safeParse(context.body);
    if (!given.success) return null; // better-auth says what is wrong with it
    const email = given.data.email.toLowerCase();
    void beginReset(context.context.internalAdapter, email)
      .then((token) => (token === null ? undefined : onResetRequested(email, `${url}/reset-password#${token}`)))
      .catch((error: unknown) => log.error({ err: error }, "a requested password reset could not be started"));
    const next = hasMail ? "a link to set a new password is on its way" : "operators can see that a link was requested";
    return context.json({ status: true, message: `If an account with this address exists, ${next}.` });
  });
}

async function refuseFrozen(context: AuthContext, db: Database): Promise<void> {
  const session = await getSessionFromCtx(context);
  if (session === null || !(await isFrozenPerson(db, session.user.id))) return;
  throw new APIError("UNAUTHORIZED", { code: "FROZEN", message: FROZEN });
}

/** Nothing happens without a session: better-auth refuses the request. */
async function confirmPerson(context: AuthContext, db: Database): Promise<void> {
  const session = await getSessionFromCtx(context);
  if (session === null) return;
  const { internalAdapter, password: passwords } = context.context;
  const logins = await internalAdapter.findAccounts(session.user.id);
  const hash = logins.find(({ providerId }) => providerId === "credential")?.password ?? null;
  const password = String(context.body?.password ?? "");
  const hasPasskey = async () => (await listCredentials(db, session.user.id)).length > 0;
  const isPassword = hash === null ? null : () => passwords.verify({ hash, password });
  const refusal =
    (await refuseUnconfirmed(new Date(session.session.createdAt), isPassword)) ??
    (context.path === UNLINK_PATH ? await refuseLastLogin(logins, hasPasskey) : null);
  if (refusal !== null) throw new APIError("BAD_REQUEST", { ...refusal });
}

type AuthContext = Parameters<typeof getSessionFromCtx>[0];

async function boundTries(context: AuthContext, db: Database): Promise<void> {
  const { body, path } = context;
  const email: unknown = path === "/sign-in/email" ? body?.email : (await getSessionFromCtx(context))?.user.email;
  const refused = typeof email === "string" ? await countPasswordTry(db, email) : null;
  if (refused !== null) throw new APIError("TOO_MANY_REQUESTS", { code: "TOO_MANY_PASSWORDS", message: refused });
}

function nameOf(body: { readonly name?: unknown } | undefined): { readonly name: string } {
  const read = readPersonName(body?.name);
  if ("name" in read) return read;
  throw new APIError("BAD_REQUEST", { code: "NAME_REFUSED", message: read.fault });
}

/** Actions that no request can reach: they have no path. */
const ownActions = {
  id: "promptd",
  endpoints: {
    checkPassword: createAuthEndpoint.serverOnly(
      { method: "POST", body: z.object({ personId: z.string(), password: z.string() }) },
      async ({ body: { personId, password }, context }) => {
        const logins = await context.internalAdapter.findAccounts(personId);
        const hash = logins.find(({ providerId }) => providerId === "credential")?.password;
        return { isRight: typeof hash === "string" && (await context.password.verify({ hash, password })) };
      },
    ),
    beginSession: createAuthEndpoint.serverOnly(
      { method: "POST", body: z.object({ personId: z.string() }) },
      async (context) => {
        const { internalAdapter } = context.context;
        const user = await internalAdapter.findUserById(context.body.personId);
        if (user === null) throw new Error("The person of a sign-in code does not exist.");
        const session = await internalAdapter.createSession(user.id);
        await setSessionCookie(context, { session, user });
        return {};
      },
    ),
  },
} as const;

/** Encrypts with the current secret what any of the secrets has encrypted; null: none of them has. */
export async function reencrypt(text: string, secrets: AuthSecrets): Promise<string | null> {
  const keys = new Map(secrets.map(({ version, value }) => [version, value]));
  const [{ version: currentVersion }] = secrets;
  for (const { value: legacySecret } of secrets) {
    const data = await symmetricDecrypt({ key: { keys, currentVersion, legacySecret }, data: text }).catch(() => null);
    if (data !== null) return symmetricEncrypt({ key: { keys, currentVersion }, data });
  }
  return null;
}

function adapterOf(db: Database) {
  type Create = Parameters<typeof createAdapterFactory>[0]["adapter"];
  const rowsOf: Create = ({ getFieldName }) =>
    // Its types promise rows of whichever type the caller names, which no database can guarantee.
    authRows(db, (model, field) => getFieldName({ model, field })) as ReturnType<Create>;
  const config = {
    adapterId: "promptd",
    supportsDates: true,
    supportsBooleans: true,
    supportsNumericIds: false,
  } as const;
  return createAdapterFactory({ config: { ...config, transaction: false }, adapter: rowsOf });
}

function ownOrigins(request: Request): string[] {
  const host = request.headers.get("host");
  return host === null ? [] : [`http://${host}`, `https://${host}`];
}
