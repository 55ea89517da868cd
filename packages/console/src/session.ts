import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { chooseAccount, chosenAccount } from "./account.ts";
import { isSignedOut, sessionQuery } from "./api.ts";

/** @returns false when nobody is signed in. */
export async function openSession(queries: QueryClient): Promise<boolean> {
  try {
    const session = await queries.ensureQueryData(sessionQuery);
    if (!session.accounts.some(({ accountId }) => accountId === chosenAccount())) chooseAccount(session.accountId);
    return true;
  } catch (error) {
    if (!isSignedOut(error)) throw error;
    chooseAccount(null);
    return false;
  }
}

const isSignedInQuery = queryOptions({
  queryKey: ["is-signed-in"],
  queryFn: async () => (await (await fetch("/manage/auth/get-session")).json()) !== null,
});

/** For pages that need nobody: it is asked without a refusal, which a browser would report as an error. */
export async function isSignedIn(queries: QueryClient): Promise<boolean> {
  if (queries.getQueryData(sessionQuery.queryKey) !== undefined) return true;
  return queries.ensureQueryData(isSignedInQuery);
}
