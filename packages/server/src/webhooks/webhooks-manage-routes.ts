import { WEBHOOK_TEST, type CreatedWebhook, type Webhook } from "@promptd/contract/manage";
import type { GuardedPost } from "../files/index.ts";
import type { ManageHandlers } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { invalid, orNotFound, type Problem } from "../platform/problem.ts";
import { insertDelivery, listDeliveries, repeatDelivery } from "./deliveries-store.ts";
import { newWebhookSecret, writtenSecret, type SecretVault } from "./webhook-secrets.ts";
import {
  deleteAlert,
  findAlert,
  findWebhook,
  insertWebhook,
  listWebhooks,
  removeWebhook,
  replaceSecret,
  updateWebhook,
  writeAlert,
  type WebhookOfAccount,
} from "./webhooks-store.ts";

export interface WebhooksRoutesOptions {
  readonly db: Database;
  readonly newId: () => string;
  readonly vault: SecretVault;
  readonly poster: Pick<GuardedPost, "faultOf">;
}

const WEBHOOKS_MAX = 10;
const OVERLAP_HOURS = 24;
const DISABLED_BY_OWNER = "An owner of the account disabled it.";

/** Webhooks of the chosen account. A webhook of another account gets the same 404 as a missing one. */
export function webhooksManageRoutes(options: WebhooksRoutesOptions) {
  return { ...webhookHandlers(options), ...deliveryHandlers(options), ...alertHandlers(options) };
}

function webhookHandlers({ db, newId, vault, poster }: WebhooksRoutesOptions) {
  const requireUrl = (url: string): void => {
    const message = poster.faultOf(url);
    if (message !== null) throw invalid([{ path: ["body", "url"], code: "invalid_value", message }]);
  };
  return {
    listWebhooks: async ({ query }, { caller: { accountId } }) => ({ data: await listWebhooks(db, accountId, query) }),
    createWebhook: async ({ body: { url, events } }, { caller: { accountId } }) => {
      requireUrl(url);
      const [webhookId, secret] = [newId(), newWebhookSecret()];
      const sealedSecret = vault.seal(webhookId, secret);
      const given = { webhookId, accountId, url, events, sealedSecret };
      const webhook = await db.tx((tx) => insertWebhook(tx, given, WEBHOOKS_MAX));
      if (webhook === null) throw tooMany();
      return { data: withSecret(webhook, secret) };
    },
    getWebhook: async ({ params: { webhookId } }, { caller: { accountId } }) => ({
      data: orNotFound(await findWebhook(db, { accountId, webhookId }), "webhook", webhookId),
    }),
    updateWebhook: async ({ params: { webhookId }, body }, { caller: { accountId } }) => {
      if (body.url !== undefined) requireUrl(body.url);
      const webhook = await updateWebhook(db, { accountId, webhookId }, body, DISABLED_BY_OWNER);
      return { data: orNotFound(webhook, "webhook", webhookId) };
    },
    deleteWebhook: async ({ params: { webhookId } }, { caller: { accountId } }) => ({
      data: orNotFound(await removeWebhook(db, { accountId, webhookId }), "webhook", webhookId),
    }),
    rollWebhookSecret: async ({ params: { webhookId } }, { caller: { accountId } }) => {
      const secret = newWebhookSecret();
      const sealed = vault.seal(webhookId, secret);
      const webhook = await replaceSecret(db, { accountId, webhookId }, sealed, OVERLAP_HOURS);
      return { data: withSecret(orNotFound(webhook, "webhook", webhookId), secret) };
    },
  } satisfies Partial<ManageHandlers>;
}

function deliveryHandlers({ db, newId }: WebhooksRoutesOptions) {
  const requireEnabled = async (one: WebhookOfAccount): Promise<void> => {
    const { disabledAt } = orNotFound(await findWebhook(db, one), "webhook", one.webhookId);
    if (disabledAt === null) return;
    const message = "The webhook is disabled. Enable it first.";
    throw invalid([{ path: ["path", "webhookId"], code: "conflict", message }]);
  };
  return {
    testWebhook: async ({ params: { webhookId } }, { caller: { accountId } }) => {
      await requireEnabled({ accountId, webhookId });
      const data = { message: "This is a test event. It does not report anything that happened." };
      return {
        data: await insertDelivery(db, { deliveryId: newId(), accountId, webhookId, event: WEBHOOK_TEST, data }),
      };
    },
    listDeliveries: async ({ params: { webhookId }, query }, { caller: { accountId } }) => {
      orNotFound(await findWebhook(db, { accountId, webhookId }), "webhook", webhookId);
      return { data: await listDeliveries(db, webhookId, query) };
    },
    repeatDelivery: async ({ params: { webhookId, deliveryId } }, { caller: { accountId } }) => {
      await requireEnabled({ accountId, webhookId });
      return { data: orNotFound(await repeatDelivery(db, webhookId, deliveryId), "delivery", deliveryId) };
    },
  } satisfies Partial<ManageHandlers>;
}

function alertHandlers({ db }: WebhooksRoutesOptions) {
  const none = { below: null, isLow: false };
  return {
    getCreditsAlert: async (_input, { caller: { accountId } }) => ({ data: (await findAlert(db, accountId)) ?? none }),
    setCreditsAlert: async ({ body: { below } }, { caller: { accountId } }) => {
      if (below !== null) return { data: await writeAlert(db, accountId, below) };
      await deleteAlert(db, accountId);
      return { data: none };
    },
  } satisfies Partial<ManageHandlers>;
}

function withSecret(webhook: Webhook, secret: Buffer): CreatedWebhook {
  return { ...webhook, secret: writtenSecret(secret) };
}

function tooMany(): Problem {
  const message = `An account may have at most ${WEBHOOKS_MAX} webhooks. Delete one first.`;
  return invalid([{ path: ["body"], code: "too_many", message }]);
}
