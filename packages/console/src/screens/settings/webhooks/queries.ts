import type { Delivery, DeliveryState, Page, Webhook } from "@promptd/contract/manage";
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

/** All lists of a webhook's deliveries, to reload them. */
export const deliveriesOf = (webhookId: string) => ["deliveries", webhookId] as const;

export const deliveriesQuery = (webhookId: string, state: DeliveryState | undefined) => ({
  ...growingList(
    [...deliveriesOf(webhookId), state],
    (query, signal) => manage.send("listDeliveries", { params: { webhookId }, query: { ...query, state }, signal }),
    ({ deliveryId }) => deliveryId,
  ),
  refetchInterval: ({ state: known }: { readonly state: QueryState<InfiniteData<Page<Delivery>>> }) => {
    const isLive = known.data?.pages.some(({ rows }) => rows.some((row) => row.state === "pending")) === true;
    return followEvery(LIVE_MS, isLive, known.error);
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
