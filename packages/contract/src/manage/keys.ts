import type { Scope } from "../credentials.ts";
import type { RecentUsage } from "./usage.ts";

/** An API key as it is listed; nothing can show it whole again. */
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
  /** At most a minute late; null: never. */
  readonly lastUsedAt: string | null;
  /** Credits that its runs may take in a calendar month (UTC); null: as many as the account has. */
  readonly monthlyCap: number | null;
  /** What its runs hold and have paid this month, with those of the keys it was rolled from or into. */
  readonly usedThisMonth: number;
  /** The prompts it may run; null: all. */
  readonly promptIds: readonly string[] | null;
  readonly last30Days: RecentUsage;
}

export const KEY_STATES = ["valid", "expired", "revoked"] as const;
export type KeyState = (typeof KEY_STATES)[number];

export interface CreatedKey extends Key {
  /** The whole key, for the only time. */
  readonly apiKey: string;
}

export interface NewKeyBody extends Partial<Omit<KeyChanges, "name">> {
  readonly name: string;
}

/** What is absent stays as it is. */
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

/** A program that asks for access by OAuth, such as a host of agents or the command line; it has registered itself. */
export interface Client {
  /** As the program calls itself. */
  readonly name: string;
  /** Where the browser goes with the outcome. */
  readonly redirectUri: string;
}

/** In place of an address: no browser can lead back to the program, so the person carries the code there. */
export const CARRIED_CODE = "urn:ietf:wg:oauth:2.0:oob";

/** What the program asked with. */
export interface ClientRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  /** Of PKCE, by the method S256. */
  readonly codeChallenge: string;
  /** Given back to the program as it came. */
  readonly state?: string | undefined;
}

export interface ClientAuthorizationBody extends ClientRequest {
  /** Of the API key that the program gets; null: no cap. */
  readonly monthlyCap: number | null;
  /** After which the key expires. */
  readonly days: number;
}

export interface ClientTokenBody extends ClientRequest {
  /** Of the management token that the program gets. */
  readonly scopes: readonly Scope[];
  /** After which the token expires. */
  readonly days: number;
}

export interface ClientAuthorization {
  /** The redirect address with a code in it, which works once, within a minute; ten minutes where a person carries it. */
  readonly redirectTo: string;
}
