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
