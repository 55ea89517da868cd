import type { Delivery, Page, Webhook } from "@promptd/contract/manage";
import { queryOptions, useQuery, type InfiniteData, type QueryState } from "@tanstack/react-query";
import { chosenAccount } from "../../../account.ts";
import { followEvery, growingList, manage, sessionQuery } from "../../../api.ts";
import type { StateTone } from "../../../components/ui/badge.tsx";

export const webhooksQuery = growingList(
  ["webhooks"],
  (query, signal) => manage.send("listWebhooks", { query, signal }),
  ({ webhookId }) => webhookId,
);

export const webhookQuery = (webhookId: string) =>
  queryOptions({
    queryKey: ["webhook", webhookId],
    queryFn: ({ signal }) => manage.send("getWebhook", { params: { webhookId }, signal }),
  });

export const creditsAlertQuery = queryOptions({
  queryKey: ["credits-alert"],
  queryFn: ({ signal }) => manage.send("getCreditsAlert", { signal }),
});

/** How often to refresh deliveries while one is pending. */
const LIVE_MS = 2_000;

export const deliveriesQuery = (webhookId: string) => ({
  ...growingList(
    ["deliveries", webhookId],
    (query, signal) => manage.send("listDeliveries", { params: { webhookId }, query, signal }),
    ({ deliveryId }) => deliveryId,
  ),
  refetchInterval: ({ state }: { readonly state: QueryState<InfiniteData<Page<Delivery>>> }) => {
    const isLive = state.data?.pages.some(({ rows }) => rows.some((row) => row.state === "pending")) === true;
    return followEvery(LIVE_MS, isLive, state.error);
  },
});

/** Whether the signed-in person may change the account's webhooks. */
export function useIsOwner(): boolean {
  const { data: session } = useQuery(sessionQuery);
  const account = session?.accounts.find(({ accountId }) => accountId === chosenAccount());
  return account?.role === "owner";
}

export function stateOf({ disabledAt, failingSince }: Webhook): { readonly word: string; readonly tone: StateTone } {
  if (disabledAt !== null) return { word: "disabled", tone: "neutral" };
  return failingSince === null ? { word: "enabled", tone: "ok" } : { word: "failing", tone: "bad" };
}
