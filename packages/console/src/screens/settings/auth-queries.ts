/** What the library of sessions knows of the person: its answers have a form of their own. */
import { queryOptions } from "@tanstack/react-query";
import { askAuth } from "../../sign-in.ts";

interface OwnSession {
  readonly session: { readonly id: string };
  readonly user: { readonly twoFactorEnabled?: boolean | null };
}

export const ownSessionQuery = queryOptions({
  queryKey: ["auth", "session"],
  queryFn: () => askAuth<OwnSession>("get-session"),
});

export interface SessionRow {
  readonly id: string;
  /** Ends it. */
  readonly token: string;
  readonly ipAddress?: string | null;
  readonly userAgent?: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const sessionsQuery = queryOptions({
  queryKey: ["auth", "sessions"],
  queryFn: () => askAuth<readonly SessionRow[]>("list-sessions"),
});

/** Ways in that the person has: `credential` is a password, the others are sign-in services. */
export const loginsQuery = queryOptions({
  queryKey: ["auth", "logins"],
  queryFn: () => askAuth<readonly { readonly providerId: string }[]>("list-accounts"),
});
