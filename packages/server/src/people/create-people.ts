/** The people of an installation: who may sign in, how, and what they did. */
import type { Features } from "@promptd/contract/manage";
import { findAccountByName } from "../accounts/index.ts";
import type { Authenticators, Endpoint, WriteAudit } from "../http/endpoint.ts";
import type { Config } from "../platform/config/config.ts";
import type { Tx } from "../platform/database/database.ts";
import type { Log } from "../platform/log.ts";
import { reasonOf } from "../platform/reason-of.ts";
import { deriveKey } from "../platform/secrets.ts";
import { createAuditWriter, createEntryWriter, type WriteEntry } from "./audit/audit.ts";
import { createPeopleAdmission } from "./people-admission.ts";
import type { Mailer, MailerOptions } from "./mail/mailer.ts";
import { resetMail, signedUpBeforeMail, verificationMail, webhookDisabledMail } from "./mail/mail-texts.ts";
import { membersManageRoutes } from "./members-manage-routes.ts";
import { hasInvitation } from "./links/invitations-store.ts";
import { isLocal } from "./first-operator.ts";
import { createOAuth, type OAuth } from "./oauth/oauth.ts";
import type { PeopleContext } from "./people-context.ts";
import { passkeysManageRoutes, peopleManageRoutes } from "./people-manage-routes.ts";
import { listOwnerEmails } from "./members-store.ts";
import { clearLinkRequest, recordLinkRequest } from "./people-store.ts";
import { ensurePersonalAccount, type PersonalAccountOptions } from "./personal-account.ts";
import { confirmAddress } from "./sign-in/email-change-store.ts";
import type { OidcProvider } from "./services/oidc-provider.ts";
import type { Sessions } from "./sign-in/sessions.ts";
import type { SignInServices } from "./sessions-options.ts";
import { createSignInAudit, type AuditAuth } from "./sign-in/sign-in-audit.ts";
import { deriveAuthSecrets } from "./secrets/auth-secrets.ts";
import { relyingPartyOf } from "./sign-in/relying-party.ts";
import { createLazySessions } from "./sign-in/lazy-sessions.ts";

export interface PeopleOptions extends MailerOptions {
  /** Null: no mail server is configured. */
  readonly mailer: Mailer | null;
  /** The server's secret. */
  readonly secret: Buffer;
  /** Secrets of the server from before a rotation. */
  readonly previousSecrets: readonly Buffer[];
  readonly publicUrl: () => string;
}

export interface People {
  readonly sessions: Sessions;
  readonly authenticators: Required<Pick<Authenticators, "session" | "token">>;
  readonly handlers: ReturnType<typeof peopleManageRoutes> &
    ReturnType<typeof passkeysManageRoutes> &
    ReturnType<typeof membersManageRoutes> &
    OAuth["handlers"];
  readonly writeAudit: WriteAudit;
  /** Audit log rows for requests under /manage/auth. */
  readonly auditAuth: AuditAuth;
  /** The authorization server for programs. */
  readonly oauthEndpoints: readonly Endpoint[];
}

export function createPeople(options: PeopleOptions): People {
  const { db, log, newId, config, mailer, publicUrl } = options;
  const account = newAccountOf(options);
  const services = servicesOf(config);
  const oidc = oidcOf(config);
  const features = (): Features => ({
    signUp: config.PROMPTD_SIGN_UP,
    signInWith: [...Object.keys(services), ...(oidc === null ? [] : ["oidc"])],
    oidcName: oidc === null ? null : config.OIDC_NAME,
    passkeys: relyingPartyOf(publicUrl()) !== null,
    mail: mailer !== null,
    newAccounts: { plan: account.plan, credits: account.credits },
    authorSharePercent: config.PROMPTD_AUTHOR_SHARE,
  });
  const secrets = deriveAuthSecrets(options.secret, options.previousSecrets);
  const [{ value: secret }] = secrets;
  const writeEntry = createEntryWriter({ db, log, newId });
  const sessions = createLazySessions({
    db,
    log,
    newId,
    secrets,
    publicUrl,
    services,
    oidc,
    onLibraryWarning: (message, rest) => logWarning({ message, rest }, oidc, log),
    refuseSignUp: (person) => refuseSignUp(person, options),
    closedSignUp: CLOSED_SIGN_UP[config.PROMPTD_SIGN_UP],
    onSignIn: async (personId) => {
      await ensurePersonalAccount(personId, account);
      await clearLinkRequest(db, personId);
    },
    hasMail: mailer !== null,
    onResetRequested: (email, link) => sendReset({ email, link }, options),
    onPasswordReset: (personId, address) => noteReset(personId, address, { db, mailer, writeEntry }),
    onServiceLinked: (personId, address) => noteSuccess(writeEntry, { personId, action: "linkSignInService", address }),
    onVerificationRequested:
      mailer === null || !account.needsVerification
        ? null
        : (email, link) => mailer.send(email, verificationMail(link)),
    onTakenAddress: async (email) => mailer?.send(email, signedUpBeforeMail(publicUrl())),
  });
  const context: PeopleContext = {
    config,
    db,
    newId,
    sessions,
    secret,
    clientsKey: deriveKey(options.secret, "promptd/oauth-clients"),
    publicUrl,
    mailer,
    features,
    writeEntry,
    newAccount: account,
  };
  const oauth = createOAuth(context);
  return {
    sessions,
    authenticators: createPeopleAdmission(context),
    oauthEndpoints: oauth.endpoints,
    handlers: {
      ...oauth.handlers,
      ...peopleManageRoutes(context),
      ...passkeysManageRoutes(context),
      ...membersManageRoutes(context),
    },
    writeAudit: createAuditWriter(writeEntry),
    auditAuth: createSignInAudit(context),
  };
}

function newAccountOf({ db, newId, config }: PeopleOptions): PersonalAccountOptions {
  return {
    db,
    newId,
    credits: config.PROMPTD_SIGN_UP_CREDITS,
    plan: config.PROMPTD_SIGN_UP_PLAN,
    needsVerification: config.PROMPTD_SMTP_URL !== null && config.PROMPTD_SIGN_UP === "open",
  };
}

/** Notifies the owners of an account that a webhook was disabled; does nothing without a mail server. */
export function webhookMails(mailer: Mailer | null) {
  return async (tx: Tx, accountId: string, webhook: Parameters<typeof webhookDisabledMail>[0]): Promise<void> => {
    if (mailer === null) return;
    const text = webhookDisabledMail(webhook);
    for (const email of await listOwnerEmails(tx, accountId)) await mailer.write(tx, email, text);
  };
}

/**
 * Sends a reset link by mail. Without mail, operators see who requested one; on a local start the log contains the
 * link.
 */
async function sendReset(
  { email, link }: { readonly email: string; readonly link: string },
  { db, config, log, mailer }: PeopleOptions,
): Promise<void> {
  if (mailer !== null) return mailer.send(email, resetMail(link));
  await recordLinkRequest(db, email);
  if (isLocal(config)) log.info({ email, link }, "a password reset was requested; no mail server is configured");
  else log.warn({ email }, "a password reset was requested; create a link in the console, under Operator, People");
}

/**
 * Records that a new password was set. Without mail the link was handed over by a person, and proves nothing about the
 * address.
 */
async function noteReset(
  personId: string,
  address: string | null,
  { db, mailer, writeEntry }: Pick<PeopleContext, "db" | "mailer" | "writeEntry">,
): Promise<void> {
  if (mailer !== null) await db.tx((tx) => confirmAddress(tx, personId));
  await noteSuccess(writeEntry, { personId, action: "resetPassword", address });
}

/** A row for what happened to a person while nobody was signed in. */
function noteSuccess(
  writeEntry: WriteEntry,
  entry: { readonly personId: string; readonly action: string; readonly address: string | null },
): Promise<void> {
  return writeEntry({ actor: "none", ...entry, outcome: "SUCCESS" });
}

/** The services that people may sign in with. */
function servicesOf(config: Config): SignInServices {
  const of = (name: "github" | "google", clientId: string | null) => {
    const clientSecret = config.secret(`${name.toUpperCase()}_CLIENT_SECRET`);
    return clientId === null || clientSecret === null ? {} : { [name]: { clientId, clientSecret } };
  };
  return { ...of("github", config.GITHUB_CLIENT_ID), ...of("google", config.GOOGLE_CLIENT_ID) };
}

function oidcOf(config: Config): OidcProvider | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = config;
  const clientSecret = config.secret("OIDC_CLIENT_SECRET");
  if (issuer === null || clientId === null || clientSecret === null) return null;
  const discoveryUrl = `${issuer}/.well-known/openid-configuration`;
  return { discoveryUrl, clientId, clientSecret, trustsEmail: config.OIDC_TRUST_EMAIL };
}

/** The second warning follows the first, and also appears for an unusable response. */
const DISCOVERY_FAILED = /^Discovery fetch failed/;
const DISCOVERY_FAULT = /discovery (left no|did not provide)/;
const DISCOVERY_MS = 10_000;

interface LibraryWarning {
  readonly message: string;
  readonly rest: readonly unknown[];
}

/**
 * The library reports neither the discovery document's address nor why fetching it failed, so this fetches it once
 * more.
 */
function logWarning({ message, rest }: LibraryWarning, oidc: OidcProvider | null, log: Log): void {
  if (oidc === null || !(DISCOVERY_FAILED.test(message) || DISCOVERY_FAULT.test(message))) {
    log.warn({ rest }, `better-auth: ${message}`);
  } else if (DISCOVERY_FAULT.test(message)) void logOidcFault(oidc, message, log);
}

async function logOidcFault({ discoveryUrl }: OidcProvider, fault: string, log: Log): Promise<void> {
  const reason = await fetch(discoveryUrl, { signal: AbortSignal.timeout(DISCOVERY_MS) }).then(async (answer) => {
    await answer.body?.cancel();
    return answer.ok ? fault : `it responds with status ${answer.status}`;
  }, reasonOf);
  log.error(
    { address: discoveryUrl, reason },
    "nobody can sign in through OIDC_ISSUER: its discovery document is unusable",
  );
}

/** Why nobody may sign up on their own, by setting. */
const CLOSED_SIGN_UP: Readonly<Record<Config["PROMPTD_SIGN_UP"], string | null>> = {
  off: "Sign-up is disabled on this server. Ask an operator for an account.",
  invite: "Signing up requires an invitation. Open your invitation link, or ask for an invitation.",
  open: null,
};

/**
 * Why somebody may not sign up on their own; null: they may. An invited person who arrives through a sign-in service
 * that has confirmed the address needs no password: they receive the mail that the invitation link went to.
 */
async function refuseSignUp(
  { email, isVerified }: { readonly email: string; readonly isVerified: boolean },
  { db, config }: PeopleOptions,
): Promise<string | null> {
  const isInvited = config.PROMPTD_SIGN_UP === "invite" && isVerified && (await hasInvitation(db, email));
  const closed = CLOSED_SIGN_UP[config.PROMPTD_SIGN_UP];
  if (closed !== null && !isInvited) return closed;
  if ((await findAccountByName(db, email)) === null) return null;
  return "An account with this email address already exists. Ask an operator for a sign-in link.";
}
