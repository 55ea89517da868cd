/** SQL for deliveries: claiming them, recording their outcomes, and showing them. */
import type { Delivery, DeliveryState, Page, PageQuery } from "@promptd/contract/manage";
import { queryAnswer, queryAnswers } from "../platform/database/answers.ts";
import type { Queryable } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";
import { firstIdOfMs } from "../platform/ids.ts";
import { singleFamily, type Family } from "../platform/metrics/metrics.ts";
import { doInBatches } from "../platform/periodic-work.ts";
import type { SealedSecrets, WebhookOfAccount } from "./webhooks-store.ts";

export interface ClaimedDelivery extends SealedSecrets {
  readonly accountId: string;
  readonly deliveryId: string;
  readonly event: Delivery["event"];
  readonly runId: string | null;
  readonly data: unknown;
  /** Increases with every claim: the fence for the outcome. */
  readonly attempt: number;
  /** Attempts before the last repeat. */
  readonly attemptsBefore: number;
  readonly createdAt: Date;
  readonly url: string;
}

export interface ClaimRequest {
  readonly atMost: number;
  /** Deliveries that this process is sending. */
  readonly live: readonly Pick<ClaimedDelivery, "accountId" | "webhookId">[];
  readonly ofAccountMax: number;
  readonly ofWebhookMax: number;
  readonly leaseSeconds: number;
  /** Where the round over accounts and webhooks continues. */
  readonly after: WebhookOfAccount;
}

interface ClaimRow extends ClaimedDelivery {
  readonly next_account: string | null;
  readonly next_webhook: string | null;
}

/** @returns `next` null: the round is complete. */
export async function claimDeliveries(
  db: Queryable,
  { atMost, live, ofAccountMax, ofWebhookMax, leaseSeconds, after }: ClaimRequest,
): Promise<{ readonly claimed: ClaimedDelivery[]; readonly next: WebhookOfAccount | null }> {
  const rows = await db.query<ClaimRow>(
    {
      name: "webhook_claim",
      text: `select account_id as "accountId", id as "deliveryId", webhook_id as "webhookId", event, run_id as "runId", data,
        attempt, attempts_before as "attemptsBefore", created_at as "createdAt", url, secret,
        previous_secret as "previousSecret", next_account, next_webhook
      from webhook_claim($1, $2::uuid[], $3::uuid[], $4, $5, make_interval(secs => $6), $7, $8)`,
    },
    [
      atMost,
      live.map(({ accountId }) => accountId),
      live.map(({ webhookId }) => webhookId),
      ofAccountMax,
      ofWebhookMax,
      leaseSeconds,
      after.accountId,
      after.webhookId,
    ],
  );
  const [first] = rows;
  const { next_account: accountId = null, next_webhook: webhookId = null } = first ?? {};
  return {
    claimed: rows.filter(({ deliveryId }: { deliveryId: string | null }) => deliveryId !== null),
    next: accountId === null || webhookId === null ? null : { accountId, webhookId },
  };
}

export interface AttemptOutcome {
  readonly state: DeliveryState;
  readonly statusCode: number | null;
  readonly fault: string | null;
  readonly durationMs: number;
  /** Seconds until the next attempt; 0 if there is none. */
  readonly retrySeconds: number;
  /** Whether the receiver caused the failure. */
  readonly isFailing: boolean;
  /** Why the webhook is disabled immediately; null: it is not. */
  readonly gone: string | null;
}

/** `lost`: another attempt has overtaken this one. `disabled`: the webhook was disabled by this outcome. */
export async function settleAttempt(
  db: Queryable,
  { deliveryId, attempt }: Pick<ClaimedDelivery, "deliveryId" | "attempt">,
  outcome: AttemptOutcome,
  giveUp: { readonly days: number; readonly reason: string },
): Promise<"lost" | "settled" | "disabled"> {
  const [row] = await db.query<{ outcome: "lost" | "settled" | "disabled" }>(
    {
      name: "webhook_settle",
      text: `select webhook_settle($1, $2, $3, $4, $5, $6, make_interval(secs => $7), $8, $9, make_interval(days => $10), $11)
        as outcome`,
    },
    [
      deliveryId,
      attempt,
      outcome.state,
      outcome.statusCode,
      outcome.fault,
      outcome.durationMs,
      outcome.retrySeconds,
      outcome.isFailing,
      outcome.gone,
      giveUp.days,
      giveUp.reason,
    ],
  );
  return row?.outcome ?? "lost";
}

const COLUMNS = `id as "deliveryId", event, run_id as "runId", state, created_at as "createdAt", attempts,
  case when state = 'pending' and not is_sending then due_at end as "nextAttemptAt", attempted_at as "lastAttemptAt",
  status_code as "statusCode", fault, duration_ms as "durationMs"`;

export function listDeliveries(
  db: Queryable,
  webhookId: string,
  { state, ...query }: PageQuery & { readonly state?: DeliveryState | undefined },
): Promise<Page<Delivery>> {
  return readPage(db, query, {
    what: "delivery",
    columns: COLUMNS,
    from: "webhook_deliveries",
    where: state === undefined ? "webhook_id = $1" : "webhook_id = $1 and state = $2",
    values: state === undefined ? [webhookId] : [webhookId, state],
  });
}

/** All deliveries of an account, oldest first. */
export function listDeliveriesOf(
  db: Queryable,
  accountId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<(Delivery & { readonly webhookId: string })[]> {
  return queryAnswers(
    db,
    `select webhook_id as "webhookId", ${COLUMNS} from webhook_deliveries
     where webhook_id in (select w.id from webhooks w where w.account_id = $1 and w.removed_at is null) and id > $2
     order by id limit $3`,
    [accountId, after, limit],
  );
}

export async function insertDelivery(
  db: Queryable,
  test: Pick<ClaimedDelivery, "deliveryId" | "accountId" | "webhookId" | "event" | "data">,
): Promise<Delivery> {
  const delivery = await queryAnswer<Delivery>(
    db,
    `insert into webhook_deliveries (id, account_id, webhook_id, event, data) values ($1, $2, $3, $4, $5)
     returning ${COLUMNS}`,
    [test.deliveryId, test.accountId, test.webhookId, test.event, JSON.stringify(test.data)],
  );
  if (delivery === null) throw new Error("The delivery was not written.");
  return delivery;
}

/**
 * Makes a delivery due now, with its whole retry schedule ahead; a delivery that is being sent right now stays
 * unchanged. Null: the webhook has no such delivery.
 */
export function repeatDelivery(db: Queryable, webhookId: string, deliveryId: string): Promise<Delivery | null> {
  return queryAnswer(
    db,
    `update webhook_deliveries set state = 'pending',
       due_at = case when is_sending and due_at > promptd_now() then due_at else promptd_now() end,
       attempts_before = case when is_sending and due_at > promptd_now() then attempts_before else attempts end
     where id = $2 and webhook_id = $1 returning ${COLUMNS}`,
    [webhookId, deliveryId],
  );
}

/** Inserts events that each webhook receives only once per subject. @returns how many deliveries were made. */
export async function insertNotices(
  db: Queryable,
  event: Delivery["event"],
  notices: readonly { readonly accountId: string; readonly subject: string; readonly data: unknown }[],
): Promise<number> {
  const [row] = await db.query<{ made: number }>("select webhook_noticed($1, $2::uuid[], $3, $4::json[]) as made", [
    event,
    notices.map(({ accountId }) => accountId),
    notices.map(({ subject }) => subject),
    notices.map(({ data }) => JSON.stringify(data)),
  ]);
  return row?.made ?? 0;
}

const BATCH = 2_000;

/** Gives up pending deliveries of disabled webhooks. */
export async function giveUpDeliveries(db: Queryable, fault: string, stop?: AbortSignal): Promise<void> {
  await doInBatches(BATCH, () => count(db, "select webhook_give_up($1, $2) as n", [BATCH, fault]), stop);
}

/** Longer than any delay between two attempts. */
const DELAY_MAX = "13 hours";

/** Makes deliveries due whose time is further away than any delay, because the clock has stepped back since. */
export async function rescheduleDeliveries(db: Queryable, stop?: AbortSignal): Promise<void> {
  const text = `with ahead as (
      select id from webhook_deliveries where state = 'pending' and due_at > promptd_now() + interval '${DELAY_MAX}'
      limit $1 for update skip locked),
    due as (update webhook_deliveries d set due_at = promptd_now() from ahead where d.id = ahead.id returning 1)
    select count(*)::int as n from due`;
  await doInBatches(BATCH, () => count(db, text, [BATCH]), stop);
}

/** Deletes deliveries made before a given time, and removed webhooks. */
export async function pruneDeliveries(db: Queryable, beforeMs: number, stop?: AbortSignal): Promise<void> {
  const values = [firstIdOfMs(beforeMs), BATCH];
  await doInBatches(BATCH, () => count(db, "select webhook_prune($1, $2) as n", values), stop);
}

async function count(db: Queryable, text: string, values: readonly unknown[]): Promise<number> {
  const [row] = await db.query<{ n: number }>(text, values);
  return row?.n ?? 0;
}

/** Counting stops here, which bounds what a scrape costs. */
const COUNTED_MAX = 100_000;

/** Reads how many deliveries are not sent yet, from their partial index. */
export async function readWebhooksMetrics(db: Queryable): Promise<Family[]> {
  const [row] = await db.query<{ pending: number }>(
    `select count(*)::int as pending from (select from webhook_deliveries where state = 'pending' limit $1) found`,
    [COUNTED_MAX],
  );
  const pending = {
    name: "promptd_installation_webhook_deliveries_pending",
    help: `Webhook deliveries of the installation that are due or wait for their next attempt; at most ${COUNTED_MAX} are counted.`,
  };
  return [singleFamily(pending, row?.pending ?? 0)];
}
