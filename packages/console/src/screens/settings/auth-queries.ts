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

/** The person's ways to sign in. `credential` is a password; the others are sign-in services. */
export const loginsQuery = queryOptions({
  queryKey: ["auth", "logins"],
  queryFn: () => askAuth<readonly { readonly providerId: string }[]>("list-accounts"),
});
