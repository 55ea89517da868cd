import type { Role, Scope } from "../credentials.ts";

/** Roles that a person can have in an account. */
export type MemberRole = Exclude<Role, "operator">;
export const MEMBER_ROLES = ["member", "owner"] as const satisfies readonly MemberRole[];

/** Who sends the request, and what it may do. */
export interface SessionInfo {
  /** Which credential was sent. */
  readonly credential: "session" | "token";
  readonly person: Person;
  /** The chosen account. */
  readonly accountId: string;
  readonly accounts: readonly AccountOfPerson[];
  /** What the token may be used for; null: a session, which may do all that the person may. */
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
  /** Shown name of the account: its display name, its user name, or its email address. */
  readonly name: string;
  /** Its email address, by which operators find it and its deletion is confirmed. */
  readonly email: string;
  readonly role: MemberRole;
  /** True: made for this person alone. */
  readonly isPersonal: boolean;
  readonly hasPlan: boolean;
}

/** What this installation has switched on, as far as a page must know it. */
export interface Features {
  readonly signUp: "off" | "invite" | "open";
  /** Names of the sign-in services that have settings, such as `github`. */
  readonly signInWith: readonly string[];
  /** What people call the service `oidc`, such as the name of a company; null: it has no settings. */
  readonly oidcName: string | null;
  /** True: browsers can make and use passkeys at the address of this server. */
  readonly passkeys: boolean;
  /** True: invitations and resets go out by mail; false: the links of invitations are shown to those who invite, and operators make sign-in links. */
  readonly mail: boolean;
  /** What the account of a new person begins with. */
  readonly newAccounts: { readonly plan: "pro" | "none"; readonly credits: number };
  /** What authors earn of what others pay for runs of their prompts, where an operator has set no other share for one. */
  readonly authorSharePercent: number;
}

/** Where a person is signed in. What would open it, its token, is in the cookie alone. */
export interface ListedSession {
  readonly sessionId: string;
  /** True: the request comes from it. */
  readonly isThis: boolean;
  /** From where it began; null: nobody knows. */
  readonly address: string | null;
  /** What the browser calls itself; null: nothing. */
  readonly userAgent: string | null;
  readonly createdAt: string;
  /** To the day: a session that goes on is renewed once a day. */
  readonly lastUsedAt: string;
}

export interface EmailChangeRequest {
  readonly email: string;
  /** Of who is signed in, when they have one. */
  readonly password?: string | undefined;
}

/** A link has gone to the new address. Until it is opened, the person signs in by the one before. */
export interface RequestedEmailChange {
  readonly personId: string;
  /** The new one. */
  readonly email: string;
  /** When the link ends. */
  readonly expiresAt: string;
}

export interface ChangedEmail {
  readonly personId: string;
  readonly email: string;
}

/** A management token as it is listed; nothing can show it whole again. */
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
  /** The whole token, for the only time. */
  readonly token: string;
}

export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Days until it expires, 1 to 366. */
  readonly expiresInDays: number;
}

/** Somebody who waits for an operator to make them a link to a new password, where no mail is sent. */
export interface AskedLink {
  readonly personId: string;
  readonly email: string;
  readonly askedAt: string;
}

/** What a one-time code led to. */
export type Welcome =
  | { readonly kind: "signed_in"; readonly personId: string }
  /** The code is good, and waits for an email address and a password; `email` is set where it is decided already. */
  | { readonly kind: "set_up"; readonly email: string | null };

export interface WelcomeBody {
  readonly code: string;
  readonly email?: string | undefined;
  readonly password?: string | undefined;
  readonly name?: string | undefined;
}

/** One write: who did what, on what, from where, when, and how it ended. */
export interface AuditEntry {
  readonly auditId: string;
  readonly at: string;
  /** By what they were admitted; `none`: by nothing yet, as at a sign-in. */
  readonly actor: "session" | "token" | "terminal" | "none";
  /** With the actor `none`: who came in, or whose password was wrong. Null: nobody is known. */
  readonly personId: string | null;
  readonly email: string | null;
  readonly tokenId: string | null;
  readonly accountId: string | null;
  /** Name of the endpoint or of the operator's command. */
  readonly action: string;
  /** What it was about: an ID, a model, or several IDs with commas between them. */
  readonly subject: string | null;
  /** The subject by the names of today: the title of a prompt, the email of a person. Null: it has none, or none any more. */
  readonly subjectName: string | null;
  /** Address of the peer; null: the operator's terminal. */
  readonly address: string | null;
  readonly requestId: string | null;
  /** `SUCCESS` or the code of the error. */
  readonly outcome: string;
}

/** A passkey as it is listed. */
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

export interface NewPasskey {
  readonly name: string;
  /** `toJSON()` of what `navigator.credentials.create` gave. */
  readonly response: CredentialJson;
}

export interface PasskeySignIn {
  /** `toJSON()` of what `navigator.credentials.get` gave. */
  readonly response: CredentialJson;
}
