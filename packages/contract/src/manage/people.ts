import type { Role, Scope } from "../credentials.ts";

/** Roles that a person can have in an account. */
export type MemberRole = Exclude<Role, "operator">;
export const MEMBER_ROLES = ["member", "owner"] as const satisfies readonly MemberRole[];

/** The requesting person or token, and what it may do. */
export interface SessionInfo {
  /** The credential that was sent. */
  readonly credential: "session" | "token";
  readonly person: Person;
  /** The chosen account. */
  readonly accountId: string;
  readonly accounts: readonly AccountOfPerson[];
  /** The token's scopes; null: a session, which may do everything the person may. */
  readonly scopes: readonly Scope[] | null;
  readonly features: Features;
}

export interface Person {
  readonly personId: string;
  readonly name: string;
  readonly email: string;
  readonly isOperator: boolean;
}

export interface AccountOfPerson {
  readonly accountId: string;
  /** The account's display name, user name, or email address. */
  readonly name: string;
  /** Its email address: operators find the account by it, and a deletion is confirmed with it. */
  readonly email: string;
  readonly role: MemberRole;
  /** True: this person's personal account. */
  readonly isPersonal: boolean;
  readonly hasPlan: boolean;
}

/** The installation's features, as far as pages need to know them. */
export interface Features {
  readonly signUp: "off" | "invite" | "open";
  /** The configured sign-in services, such as `github`. */
  readonly signInWith: readonly string[];
  /** Display name of the service `oidc`, such as a company's name; null: it is not configured. */
  readonly oidcName: string | null;
  /** True: browsers can create and use passkeys at this server's address. */
  readonly passkeys: boolean;
  /**
   * True: invitations and password resets are sent by mail. False: invitation links are shown to the inviter, and
   * operators create sign-in links.
   */
  readonly mail: boolean;
  /** A new person's initial plan and credits. */
  readonly newAccounts: { readonly plan: "pro" | "none"; readonly credits: number };
  /** The author's share of what others pay for runs of a prompt, unless an operator has set another share for it. */
  readonly authorSharePercent: number;
}

/** A person's session. Its token is only in the cookie. */
export interface ListedSession {
  readonly sessionId: string;
  /** True: it is the session of this request. */
  readonly isThis: boolean;
  /** The address the session started from; null: unknown. */
  readonly address: string | null;
  /** The browser's user agent; null: none. */
  readonly userAgent: string | null;
  readonly createdAt: string;
  /** Accurate to the day: an active session is renewed once a day. */
  readonly lastUsedAt: string;
}

export interface EmailChangeRequest {
  readonly email: string;
  /** The signed-in person's current password, if they have one. */
  readonly password?: string | undefined;
}

/** A link was sent to the new address. Until it is opened, the person signs in with the old address. */
export interface RequestedEmailChange {
  readonly personId: string;
  /** The new address. */
  readonly email: string;
  /** When the link expires. */
  readonly expiresAt: string;
}

export interface ChangedEmail {
  readonly personId: string;
  readonly email: string;
}

/** A management token in a list. The whole token cannot be shown again. */
export interface Token {
  readonly tokenId: string;
  readonly name: string;
  /** Its first eight and last four characters. */
  readonly display: string;
  readonly accountId: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
}

export interface CreatedToken extends Token {
  /** The whole token. It is shown only this once. */
  readonly token: string;
}

export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Days until it expires, 1 to 366. */
  readonly expiresInDays: number;
}

/** A person on an installation without mail who waits for an operator to create a password link. */
export interface AskedLink {
  readonly personId: string;
  readonly email: string;
  readonly askedAt: string;
}

/** The result of opening a one-time link. */
export type Welcome =
  | { readonly kind: "signed_in"; readonly personId: string }
  /**
   * The code is valid; the person must choose an email address and a password. `email` is set if it is already decided.
   */
  | { readonly kind: "set_up"; readonly email: string | null };

export interface WelcomeBody {
  readonly code: string;
  readonly email?: string | undefined;
  readonly password?: string | undefined;
  readonly name?: string | undefined;
}

/** One audited action: who did what to which subject, from where, when, and with what outcome. */
export interface AuditEntry {
  readonly auditId: string;
  readonly at: string;
  /** The credential that admitted them; `none`: none yet, as during a sign-in. */
  readonly actor: "session" | "token" | "terminal" | "none";
  /** With actor `none`: the person who signed in, or whose password was wrong. Null: unknown. */
  readonly personId: string | null;
  readonly email: string | null;
  readonly tokenId: string | null;
  readonly accountId: string | null;
  /** Name of the endpoint or operator command. */
  readonly action: string;
  /** The subject: an id, a model, or several comma-separated ids. */
  readonly subject: string | null;
  /**
   * The subject's current name, such as a prompt's title or a person's email. Null: it has none, or no longer exists.
   */
  readonly subjectName: string | null;
  /** The client's IP address; null: the operator's terminal. */
  readonly address: string | null;
  readonly requestId: string | null;
  /** `SUCCESS` or the error code. */
  readonly outcome: string;
}

/** A passkey in a list. */
export interface Passkey {
  readonly passkeyId: string;
  readonly name: string;
  /** True: it is synchronized between the person's devices. */
  readonly isBackedUp: boolean;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

/** JSON of the Web Authentication API, as `PublicKeyCredential` reads and writes it (WebAuthn Level 3, section 5.1). */
export type CredentialJson = Readonly<Record<string, unknown>>;

/** For `PublicKeyCredential.parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`. */
export interface CredentialOptions {
  readonly options: CredentialJson;
}

export interface PasskeyRequest {
  /** The signed-in person's current password, if they have one. */
  readonly password?: string | undefined;
}

export interface NewPasskey {
  readonly name: string;
  /** `toJSON()` of the result of `navigator.credentials.create`. */
  readonly response: CredentialJson;
}

export interface PasskeySignIn {
  /** `toJSON()` of the result of `navigator.credentials.get`. */
  readonly response: CredentialJson;
}
