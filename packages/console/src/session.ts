import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { chooseAccount, chosenAccount } from "./account.ts";
import { browseOf, isSignedOut, marketplacePages, sessionQuery } from "./api.ts";
import type { MarketplaceSearch } from "./search.ts";

/**
 * @param cards what the marketplace is to show, if it is opened: asked for together with the session, so that the page
 * waits for one answer and not for one after the other.
 * @returns false when nobody is signed in.
 */
export async function openSession(queries: QueryClient, cards?: MarketplaceSearch): Promise<boolean> {
  const cardsQuery = cards === undefined ? null : marketplacePages(browseOf(cards));
  if (cardsQuery !== null) void queries.prefetchInfiniteQuery(cardsQuery);
  try {
    // What was refused since it was read may have been refused because it has ended.
    const isInDoubt = isSignedOut(queries.getQueryState(sessionQuery.queryKey)?.error);
    const session = await (isInDoubt ? queries.fetchQuery(sessionQuery) : queries.ensureQueryData(sessionQuery));
    const asked = chosenAccount();
    if (session.accounts.some(({ accountId }) => accountId === asked)) return true;
    chooseAccount(session.accountId);
    // The cards were asked for in an account that the person has left, which is refused.
    if (cardsQuery !== null && asked !== null) queries.removeQueries({ queryKey: cardsQuery.queryKey });
    return true;
  } catch (error) {
    if (!isSignedOut(error)) throw error;
    chooseAccount(null);
    return false;
  }
}

/** Asked without a refusal, which a browser would report as an error. False as well where nobody answers. */
export async function hasSession(): Promise<boolean> {
  const answer = await fetch("/manage/auth/get-session").catch(() => null);
  return answer?.ok === true && (await answer.json()) !== null;
}

const isSignedInQuery = queryOptions({ queryKey: ["is-signed-in"], queryFn: hasSession });

/** For pages that need nobody. */
export async function isSignedIn(queries: QueryClient): Promise<boolean> {
  if (queries.getQueryData(sessionQuery.queryKey) !== undefined) return true;
  return queries.ensureQueryData(isSignedInQuery);
}
