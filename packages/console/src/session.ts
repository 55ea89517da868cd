import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { chooseAccount, chosenAccount } from "./account.ts";
import { browseOf, isSignedOut, marketplacePages, sessionQuery } from "./api.ts";
import type { MarketplaceSearch } from "./search.ts";

/**
 * @param cards the marketplace query, if that page opens. It loads in parallel with the session, so that the page waits
 * for one response instead of two in sequence.
 * @returns false when nobody is signed in.
 */
export async function openSession(queries: QueryClient, cards?: MarketplaceSearch): Promise<boolean> {
  const cardsQuery = cards === undefined ? null : marketplacePages(browseOf(cards));
  if (cardsQuery !== null) void queries.prefetchInfiniteQuery(cardsQuery);
  try {
    // A request refused since the session was read may mean that the session has ended.
    const isInDoubt = isSignedOut(queries.getQueryState(sessionQuery.queryKey)?.error);
    const session = await (isInDoubt ? queries.fetchQuery(sessionQuery) : queries.ensureQueryData(sessionQuery));
    const chosen = chosenAccount();
    if (session.accounts.some(({ accountId }) => accountId === chosen)) return true;
    chooseAccount(session.accountId);
    // The cards were requested for an account that the person has left, so the server refused.
    if (cardsQuery !== null && chosen !== null) queries.removeQueries({ queryKey: cardsQuery.queryKey });
    return true;
  } catch (error) {
    if (!isSignedOut(error)) throw error;
    chooseAccount(null);
    return false;
  }
}

/** Asks in a way that is never refused, because browsers report refusals as errors. Also false if the server is down. */
export async function hasSession(): Promise<boolean> {
  const answer = await fetch("/manage/auth/get-session").catch(() => null);
  return answer?.ok === true && (await answer.json()) !== null;
}

const isSignedInQuery = queryOptions({ queryKey: ["is-signed-in"], queryFn: hasSession });

/** For pages that need no sign-in. */
export async function isSignedIn(queries: QueryClient): Promise<boolean> {
  if (queries.getQueryData(sessionQuery.queryKey) !== undefined) return true;
  return queries.ensureQueryData(isSignedInQuery);
}
