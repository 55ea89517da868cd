/** What the export and the deletion of an account need. */
import { listDeliveriesOf, pruneDeliveries } from "./deliveries-store.ts";
import type { Queryable } from "../platform/database/database.ts";
import { listWebhooksOf, removeWebhooksOf } from "./webhooks-store.ts";

export const webhooksOfAccount = {
  listWebhooks: listWebhooksOf,
  listDeliveries: listDeliveriesOf,
  /** Nothing is sent any more. */
  removeAll: removeWebhooksOf,
  /** Deletes what was removed, of every account. */
  deleteRemoved: (db: Queryable, stop: AbortSignal | undefined) => pruneDeliveries(db, 0, stop),
};
