/** What a caller shows to say who it is. */
export type Credential = "apiKey" | "session" | "token";

/** Who may call: who shows this credential, or one of several; `none`: everybody. */
export type Auth = Credential | readonly Credential[] | "none";

/** What a management token may be used for. */
export const SCOPES = [
  "prompts:read",
  "prompts:write",
  "keys:write",
  "webhooks:write",
  "runs:read",
  "credits:read",
  "operator",
] as const;
export type Scope = (typeof SCOPES)[number];

/** Of a person in the chosen account, from the least to the most; an operator is one of the whole installation. */
export const ROLES = ["member", "owner", "operator"] as const;
export type Role = (typeof ROLES)[number];

/** `data` of a 401 of the management API: what would be needed instead. */
export type Unauthorized =
  | { readonly reason: "SIGN_IN_REQUIRED" }
  | { readonly reason: "WRONG_CREDENTIAL"; readonly expected: readonly ("session" | "token")[] }
  | { readonly reason: "SCOPE_REQUIRED"; readonly scope: Scope }
  | { readonly reason: "ROLE_REQUIRED"; readonly role: Role };

export interface Me {
  readonly username: string | null;
  readonly displayName: string | null;
  /** Sum of USER_FLAGS. */
  readonly userFlags: number;
}

/** Bits of `userFlags`; a bit is never reused. */
export const USER_FLAGS = { planActive: 1, author: 2 } as const;

export interface Credits {
  /** What can be spent now: granted, minus spent, minus held by runs in progress, minus expired. */
  readonly credits: number;
}
