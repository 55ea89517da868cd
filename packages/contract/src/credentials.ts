/** How a caller authenticates. */
export type Credential = "apiKey" | "session" | "token";

/** The credentials an endpoint accepts; `none`: it needs no authentication. */
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

/** A person's role in the chosen account, in ascending order. An operator's role covers the whole installation. */
export const ROLES = ["member", "owner", "operator"] as const;
export type Role = (typeof ROLES)[number];

/** `data` of a 401 from the management API: the credential that would be needed instead. */
export type Unauthorized =
  | { readonly reason: "SIGN_IN_REQUIRED" }
  | { readonly reason: "WRONG_CREDENTIAL"; readonly expected: readonly ("session" | "token")[] }
  | { readonly reason: "SCOPE_REQUIRED"; readonly scope: Scope }
  | { readonly reason: "ROLE_REQUIRED"; readonly role: Role };
