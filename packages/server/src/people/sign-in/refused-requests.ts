/** What better-auth would accept, and this server does not. */
import { shownNameField } from "@promptd/contract/manage/schemas";
import { z } from "zod";
import { isStorable } from "../../platform/json.ts";

/** Nothing here uses these, and each would be one more way in. */
export const DISABLED_PATHS = [
  "/verify-password", // it has no limit for password attempts through an open session
  // These name sessions by their tokens; /manage/v1/sessions names them by id.
  "/list-sessions",
  "/revoke-session",
  "/error", // shows any text that a link contains as a page of this server; errors are shown by the console
];

/** What a frozen person may still request: to sign out, or to sign in as somebody else in the same browser. */
const FOR_FROZEN = /^\/(sign-|callback\/|verify-email|request-password-reset|reset-password)/;

export const isForFrozen = (path: string): boolean => FOR_FROZEN.test(path);

const unusedSchema = z.object({
  /** Signs in with an ID token that somebody has, instead of a code that only this browser can redeem. */
  idToken: z.unknown(),
  /** Skips the second factor in this browser for a month, also after the password was changed. */
  trustDevice: z.unknown(),
  /** Nothing shows pictures of people. */
  image: z.unknown(),
});

/** Why a request is refused before the library reads it; null: it is not. */
export function findFault({ body, query, params }: Record<"body" | "query" | "params", unknown>): string | null {
  if (!isStorable([body, query, params])) return "The request contains U+0000 or an unpaired surrogate. Remove it.";
  const { data = {} } = unusedSchema.partial().safeParse(body);
  const unused = Object.entries(data).find(([, value]) => value !== undefined);
  return unused === undefined ? null : `${unused[0]} is not supported.`;
}

const personName = shownNameField("name", 100);

/** A person's self-chosen name, if it may be shown to others. `fault`: why it may not. */
export function readPersonName(given: unknown): { readonly name: string } | { readonly fault: string } {
  const read = personName.safeParse(given);
  return read.success ? { name: read.data } : { fault: read.error.issues[0]?.message ?? "name is not valid." };
}
