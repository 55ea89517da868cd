/** SQL of webhooks and of the alert of credits (migration 0029). */
import type { CreditsAlert, Page, PageQuery, Webhook, WebhookEventName } from "@promptd/contract/manage";
import type { Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

interface WebhookRow {
  id: string;
  url: string;
  events: WebhookEventName[];
  created_at: Date;
  disabled_at: Date | null;
  disabled_reason: string | null;
  failing_since: Date | null;
  previous_secret_until: Date | null;
}

const COLUMNS = `id, url, events, created_at, disabled_at, disabled_reason, failing_since,
  case when previous_secret_until > promptd_now() then previous_secret_until end as previous_secret_until`;

export interface WebhookOfAccount {
  readonly accountId: string;
  readonly webhookId: string;
}

export function listWebhooks(db: Queryable, accountId: string, query: PageQuery): Promise<Page<Webhook>> {
  return readPage(db, query, {
    what: "webhook",
    columns: COLUMNS,
    from: "webhooks",
    where: "account_id = $1 and removed_at is null",
    values: [accountId],
    toItem: toWebhook,
  });
}

export async function findWebhook(db: Queryable, { accountId, webhookId }: WebhookOfAccount): Promise<Webhook | null> {
  const text = `select ${COLUMNS} from webhooks where id = $1 and account_id = $2 and removed_at is null`;
  return toOne(await db.query<WebhookRow>(text, [webhookId, accountId]));
}

export interface WebhookToInsert extends WebhookOfAccount {
  readonly url: string;
  readonly events: readonly WebhookEventName[];
  readonly sealedSecret: Buffer;
}

/** Null: the account has as many as it may have. */
export async function insertWebhook(db: Queryable, webhook: WebhookToInsert, max: number): Promise<Webhook | null> {
  const { webhookId, accountId, url, events, sealedSecret } = webhook;
  const rows = await db.query<WebhookRow>(
    `insert into webhooks (id, account_id, url, events, secret) select $1, $2, $3, $4, $5
     where (select count(*) from webhooks where account_id = $2 and removed_at is null) < $6 returning ${COLUMNS}`,
    [webhookId, accountId, url, events, sealedSecret, max],
  );
  return toOne(rows);
}

export interface WebhookUpdate {
  readonly url: string | null;
  readonly events: readonly WebhookEventName[] | null;
  readonly isEnabled: boolean | null;
}

/** Null members stay as they are. A webhook that is enabled begins with a clean record. */
export async function updateWebhook(
  db: Queryable,
  { accountId, webhookId }: WebhookOfAccount,
  { url, events, isEnabled }: WebhookUpdate,
  disabledReason: string,
): Promise<Webhook | null> {
  const rows = await db.query<WebhookRow>(
    `update webhooks set url = coalesce($3, url), events = coalesce($4, events),
       failing_since = case when $5 then null else failing_since end,
       disabled_at = case when $5 is null then disabled_at when not $5 then coalesce(disabled_at, promptd_now()) end,
       disabled_reason = case when $5 is null then disabled_reason when not $5 then coalesce(disabled_reason, $6) end
     where id = $1 and account_id = $2 and removed_at is null returning ${COLUMNS}`,
    [webhookId, accountId, url, events, isEnabled, disabledReason],
  );
  return toOne(rows);
}

/** The present secret becomes the previous one, which signs for `hours` more. */
export async function replaceSecret(
  db: Queryable,
  { accountId, webhookId }: WebhookOfAccount,
  sealedSecret: Buffer,
  hours: number,
): Promise<Webhook | null> {
  const rows = await db.query<WebhookRow>(
    `update webhooks set previous_secret = secret, secret = $3,
       previous_secret_until = promptd_now() + make_interval(hours => $4)
     where id = $1 and account_id = $2 and removed_at is null returning ${COLUMNS}`,
    [webhookId, accountId, sealedSecret, hours],
  );
  return toOne(rows);
}

/** Hides it at once, without its secrets; a tick deletes the row when its deliveries are gone. */
export async function removeWebhook(
  db: Queryable,
  { accountId, webhookId }: WebhookOfAccount,
): Promise<Webhook | null> {
  const rows = await db.query<WebhookRow>(
    `update webhooks set removed_at = promptd_now(), secret = '', previous_secret = null
     where id = $1 and account_id = $2 and removed_at is null returning ${COLUMNS}`,
    [webhookId, accountId],
  );
  return toOne(rows);
}

/** All of an account, and its alert. Nothing is sent any more. */
export async function removeWebhooksOf(tx: Tx, accountId: string): Promise<void> {
  await tx.query(
    `update webhooks set removed_at = promptd_now(), secret = '', previous_secret = null
     where account_id = $1 and removed_at is null`,
    [accountId],
  );
  await tx.query("delete from webhook_alerts where account_id = $1", [accountId]);
}

export async function listWebhooksOf(db: Queryable, accountId: string): Promise<Webhook[]> {
  const text = `select ${COLUMNS} from webhooks where account_id = $1 and removed_at is null order by id`;
  return (await db.query<WebhookRow>(text, [accountId])).map(toWebhook);
}

/** Accounts with a webhook that is enabled and wants the event. */
export async function listAccountsThatWant(db: Queryable, event: WebhookEventName): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select distinct account_id as id from webhooks
     where removed_at is null and disabled_at is null and $1 = any (events)`,
    [event],
  );
  return rows.map(({ id }) => id);
}

export interface SealedSecrets {
  readonly webhookId: string;
  readonly secret: Buffer;
  readonly previousSecret: Buffer | null;
}

/** What is not sealed with this key; at most a few hundred rows at a time. */
export function listSealedWithOthers(db: Queryable, keyId: Buffer): Promise<SealedSecrets[]> {
  return db.query<SealedSecrets>(
    `select id as "webhookId", secret, previous_secret as "previousSecret" from webhooks
     where removed_at is null and (substring(secret from 1 for octet_length($1::bytea)) <> $1::bytea
       or previous_secret_until > promptd_now() and substring(previous_secret from 1 for octet_length($1::bytea)) <> $1::bytea)
     order by id limit 500`,
    [keyId],
  );
}

/** Leaves a webhook alone that was rolled meanwhile. */
export async function replaceSealed(db: Queryable, before: SealedSecrets, after: SealedSecrets): Promise<void> {
  await db.query(
    `update webhooks set secret = $3, previous_secret = $4 where id = $1 and secret = $2 and removed_at is null`,
    [before.webhookId, before.secret, after.secret, after.previousSecret],
  );
}

export async function findAlert(db: Queryable, accountId: string): Promise<CreditsAlert | null> {
  const text = `select below, is_low as "isLow" from webhook_alerts where account_id = $1`;
  return (await db.query<CreditsAlert>(text, [accountId]))[0] ?? null;
}

/** Another threshold is compared anew. */
export async function writeAlert(db: Queryable, accountId: string, below: number): Promise<CreditsAlert> {
  const [row] = await db.query<CreditsAlert>(
    `insert into webhook_alerts as a (account_id, below) values ($1, $2)
     on conflict (account_id) do update set below = excluded.below,
       is_low = a.is_low and a.below = excluded.below,
       noted_at = case when a.below = excluded.below then a.noted_at end
     returning below, is_low as "isLow"`,
    [accountId, below],
  );
  if (row === undefined) throw new Error("The alert of credits was not written.");
  return row;
}

export async function deleteAlert(db: Queryable, accountId: string): Promise<void> {
  await db.query("delete from webhook_alerts where account_id = $1", [accountId]);
}

export async function compareCredits(db: Queryable): Promise<number> {
  const [row] = await db.query<{ made: number }>("select webhook_credits_compared() as made");
  return row?.made ?? 0;
}

function toOne(rows: readonly WebhookRow[]): Webhook | null {
  return rows[0] === undefined ? null : toWebhook(rows[0]);
}

function toWebhook(row: WebhookRow): Webhook {
  return {
    webhookId: row.id,
    url: row.url,
    events: row.events,
    createdAt: row.created_at.toISOString(),
    disabledAt: row.disabled_at?.toISOString() ?? null,
    disabledReason: row.disabled_reason,
    failingSince: row.failing_since?.toISOString() ?? null,
    previousSecretUntil: row.previous_secret_until?.toISOString() ?? null,
  };
}
