/** SQL for webhooks and for credit alerts (migration 0029). */
import type { CreditsAlert, ManageShapes, Page, PageQuery, Webhook, WebhookEventName } from "@promptd/contract/manage";
import { queryAnswer, queryAnswers } from "../platform/database/answers.ts";
import type { Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

const COLUMNS = `id as "webhookId", url, events, created_at as "createdAt", disabled_at as "disabledAt",
  disabled_reason as "disabledReason", failing_since as "failingSince",
  case when previous_secret_until > promptd_now() then previous_secret_until end as "previousSecretUntil"`;

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
  });
}

export function findWebhook(db: Queryable, { accountId, webhookId }: WebhookOfAccount): Promise<Webhook | null> {
  const text = `select ${COLUMNS} from webhooks where id = $1 and account_id = $2 and removed_at is null`;
  return queryAnswer(db, text, [webhookId, accountId]);
}

/** Locks the account, whose webhooks are counted. Null: it already has the maximum number. */
export async function insertWebhook(
  tx: Tx,
  webhook: WebhookOfAccount & Pick<Webhook, "url" | "events"> & { readonly sealedSecret: Buffer },
  max: number,
): Promise<Webhook | null> {
  const { webhookId, accountId, url, events, sealedSecret } = webhook;
  await tx.query("select 1 from accounts where id = $1 for no key update", [accountId]);
  return queryAnswer(
    tx,
    `insert into webhooks (id, account_id, url, events, secret) select $1, $2, $3, $4, $5
     where (select count(*) from webhooks where account_id = $2 and removed_at is null) < $6 returning ${COLUMNS}`,
    [webhookId, accountId, url, events, sealedSecret, max],
  );
}

/** Absent members stay unchanged. A webhook that is enabled starts with a clean record. */
export function updateWebhook(
  db: Queryable,
  { accountId, webhookId }: WebhookOfAccount,
  { url, events, isEnabled }: ManageShapes["updateWebhook"]["body"],
  disabledReason: string,
): Promise<Webhook | null> {
  return queryAnswer(
    db,
    `update webhooks set url = coalesce($3, url), events = coalesce($4, events),
       failing_since = case when $5 then null else failing_since end,
       disabled_at = case when $5 is null then disabled_at when not $5 then coalesce(disabled_at, promptd_now()) end,
       disabled_reason = case when $5 is null then disabled_reason when not $5 then coalesce(disabled_reason, $6) end
     where id = $1 and account_id = $2 and removed_at is null returning ${COLUMNS}`,
    [webhookId, accountId, url ?? null, events ?? null, isEnabled ?? null, disabledReason],
  );
}

/** The current secret becomes the previous one, which signs for another `hours` hours. */
export function replaceSecret(
  db: Queryable,
  { accountId, webhookId }: WebhookOfAccount,
  sealedSecret: Buffer,
  hours: number,
): Promise<Webhook | null> {
  return queryAnswer(
    db,
    `update webhooks set previous_secret = secret, secret = $3,
       previous_secret_until = promptd_now() + make_interval(hours => $4)
     where id = $1 and account_id = $2 and removed_at is null returning ${COLUMNS}`,
    [webhookId, accountId, sealedSecret, hours],
  );
}

/** Hides the webhook at once and removes its secrets; a tick deletes the row when its deliveries are gone. */
export function removeWebhook(db: Queryable, { accountId, webhookId }: WebhookOfAccount): Promise<Webhook | null> {
  return queryAnswer(
    db,
    `update webhooks set removed_at = promptd_now(), secret = '', previous_secret = null
     where id = $1 and account_id = $2 and removed_at is null returning ${COLUMNS}`,
    [webhookId, accountId],
  );
}

/** Removes all webhooks of an account, and its alert. Nothing is sent from then on. */
export async function removeWebhooksOf(tx: Tx, accountId: string): Promise<void> {
  await tx.query(
    `update webhooks set removed_at = promptd_now(), secret = '', previous_secret = null
     where account_id = $1 and removed_at is null`,
    [accountId],
  );
  await tx.query("delete from webhook_alerts where account_id = $1", [accountId]);
}

export function listWebhooksOf(db: Queryable, accountId: string): Promise<Webhook[]> {
  const text = `select ${COLUMNS} from webhooks where account_id = $1 and removed_at is null order by id`;
  return queryAnswers(db, text, [accountId]);
}

/** Accounts with an enabled webhook that wants the event. */
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

/** Secrets that are not sealed with this key; at most a few hundred rows at a time. */
export function listSealedWithOthers(db: Queryable, keyId: Buffer): Promise<SealedSecrets[]> {
  return db.query<SealedSecrets>(
    `select id as "webhookId", secret, previous_secret as "previousSecret" from webhooks
     where removed_at is null and (substring(secret from 1 for octet_length($1::bytea)) <> $1::bytea
       or previous_secret_until > promptd_now() and substring(previous_secret from 1 for octet_length($1::bytea)) <> $1::bytea)
     order by id limit 500`,
    [keyId],
  );
}

/** Skips a webhook that was rolled meanwhile. */
export async function replaceSealed(db: Queryable, before: SealedSecrets, after: SealedSecrets): Promise<void> {
  await db.query(
    `update webhooks set secret = $3, previous_secret = $4 where id = $1 and secret = $2 and removed_at is null`,
    [before.webhookId, before.secret, after.secret, after.previousSecret],
  );
}

export function findAlert(db: Queryable, accountId: string): Promise<CreditsAlert | null> {
  return queryAnswer(db, `select below, is_low as "isLow" from webhook_alerts where account_id = $1`, [accountId]);
}

/** A new threshold is compared afresh. */
export async function writeAlert(db: Queryable, accountId: string, below: number): Promise<CreditsAlert> {
  const [row] = await db.query<CreditsAlert>(
    `insert into webhook_alerts as a (account_id, below) values ($1, $2)
     on conflict (account_id) do update set below = excluded.below,
       is_low = a.is_low and a.below = excluded.below,
       noted_at = case when a.below = excluded.below then a.noted_at end
     returning below, is_low as "isLow"`,
    [accountId, below],
  );
  if (row === undefined) throw new Error("The credit alert was not written.");
  return row;
}

export async function deleteAlert(db: Queryable, accountId: string): Promise<void> {
  await db.query("delete from webhook_alerts where account_id = $1", [accountId]);
}

export async function compareCredits(db: Queryable): Promise<number> {
  const [row] = await db.query<{ made: number }>("select webhook_credits_compared() as made");
  return row?.made ?? 0;
}
