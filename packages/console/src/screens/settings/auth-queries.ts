/** Queries to better-auth, whose responses have their own format. */
import { queryOptions } from "@tanstack/react-query";
import { manage } from "../../api.ts";
import { askAuth } from "../../sign-in.ts";

interface OwnSession {
  readonly user: { readonly twoFactorEnabled?: boolean | null };
}

export const ownSessionQuery = queryOptions({
  queryKey: ["auth", "session"],
  queryFn: () => askAuth<OwnSession>("get-session"),
});

export const sessionsQuery = queryOptions({
  queryKey: ["auth", "sessions"],
  queryFn: async ({ signal }) => (await manage.send("listSessions", { signal })).rows,
});

/** A way to sign in. */
export interface Login {
  readonly id: string;
  /** `credential` is a password; the others are sign-in services. */
  readonly providerId: string;
  readonly createdAt: string;
}

export const loginsQuery = queryOptions({
  queryKey: ["auth", "logins"],
  queryFn: () => askAuth<readonly Login[]>("list-accounts"),
});
