import type { Scope } from "../credentials.ts";
import type { PageQuery } from "../pages.ts";
import type { RecentUsage } from "./usage.ts";

/** An API key in a list. The whole key cannot be shown again. */
export interface Key {
  readonly keyId: string;
  readonly name: string;
  /** Its first eight and last four characters. */
  readonly display: string;
  readonly state: KeyState;
  readonly createdAt: string;
  /** Null: never. */
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** Up to a minute late; null: never used. */
  readonly lastUsedAt: string | null;
  /** The address of that request; null: never used, or not recorded. */
  readonly lastUsedFrom: string | null;
  /** Credits that the key's runs may spend per calendar month (UTC); null: no limit. */
  readonly monthlyCap: number | null;
  /** Credits that the key's runs hold or paid this month, including keys it was rolled from or into. */
  readonly usedThisMonth: number;
  /** The prompts it may run; null: all. */
  readonly promptIds: readonly string[] | null;
  readonly last30Days: RecentUsage;
}

export const KEY_STATES = ["valid", "expired", "revoked"] as const;
export type KeyState = (typeof KEY_STATES)[number];

export interface ListKeysQuery extends PageQuery {
  /** `without` leaves out revoked keys. Default: `with`. */
  readonly revoked?: "with" | "without" | undefined;
}

export interface CreatedKey extends Key {
  /** The whole key. It is shown only this once. */
  readonly apiKey: string;
}

export interface NewKeyBody extends Partial<Omit<KeyChanges, "name">> {
  readonly name: string;
}

/** Absent members stay unchanged. */
export interface KeyChanges {
  readonly name?: string | undefined;
  /** ISO 8601; null: never. */
  readonly expiresAt?: string | null | undefined;
  readonly monthlyCap?: number | null | undefined;
  /** 1 to 100 ids; null: all prompts. */
  readonly promptIds?: readonly string[] | null | undefined;
}

export interface RolledKey extends CreatedKey {
  readonly oldKeyId: string;
  readonly oldKeyExpiresAt: string;
}

/** A program that requests access through OAuth, such as an agent host or the command line. It registered itself. */
export interface Client {
  /** The program's name for itself. */
  readonly name: string;
  /** Where the browser is sent with the outcome. */
  readonly redirectUri: string;
}

/** Replaces an address if no browser can return to the program: the person copies the code there. */
export const CARRIED_CODE = "urn:ietf:wg:oauth:2.0:oob";

/** The parameters of the program's request. */
export interface ClientRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  /** The PKCE challenge, with method S256. */
  readonly codeChallenge: string;
  /** Returned to the program unchanged. */
  readonly state?: string | undefined;
}

export interface ClientAuthorizationBody extends ClientRequest {
  /** The monthly cap of the program's API key; null: no cap. */
  readonly monthlyCap: number | null;
  /** After which the key expires. */
  readonly days: number;
}

export interface ClientTokenBody extends ClientRequest {
  /** The scopes of the program's management token. */
  readonly scopes: readonly Scope[];
  /** After which the token expires. */
  readonly days: number;
}

export interface ClientAuthorization {
  /** The redirect address with a code that works once, for one minute, or ten minutes if a person copies it. */
  readonly redirectTo: string;
}
