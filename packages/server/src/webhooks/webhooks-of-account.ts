/** What the export and the deletion of an account need. */
import { listDeliveriesOf, pruneDeliveries } from "./deliveries-store.ts";
import type { Queryable } from "../platform/database/database.ts";
import { listWebhooksOf, removeWebhooksOf } from "./webhooks-store.ts";

export const webhooksOfAccount = {
  listWebhooks: listWebhooksOf,
  listDeliveries: listDeliveriesOf,
  /** Stops all sending. */
  removeAll: removeWebhooksOf,
  /** Deletes removed webhooks, of all accounts. */
  deleteRemoved: (db: Queryable, stop: AbortSignal | undefined) => pruneDeliveries(db, 0, stop),
};
