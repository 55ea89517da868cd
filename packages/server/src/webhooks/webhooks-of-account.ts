/** What the export and the deletion of an account need. */
import { listDeliveriesOf } from "./deliveries-store.ts";
import { listWebhooksOf, removeWebhooksOf } from "./webhooks-store.ts";

export const webhooksOfAccount = {
  listWebhooks: listWebhooksOf,
  listDeliveries: listDeliveriesOf,
  removeAll: removeWebhooksOf,
};
