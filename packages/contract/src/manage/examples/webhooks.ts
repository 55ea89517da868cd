import type { ShapesOf } from "../../endpoints.ts";
import type { ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { webhooksSchemas } from "../schemas/webhooks.ts";

const WEBHOOK_ID = "019a2c40-6b1e-7f20-9a3d-4c7e1d5b8f02";
const DELIVERY_ID = "019a2c44-02cd-7b91-8e57-a1f0c3d2b964";
const SECRET = "whsec_Vk3zO1y0cXg2bS5pQm9uR8tWj7LhEfDa";

const webhook = {
  webhookId: WEBHOOK_ID,
  url: "https://example.org/promptd/events",
  events: ["run.finished", "credits.low"],
  createdAt: "2026-11-22T10:00:00.000Z",
  disabledAt: null,
  disabledReason: null,
  failingSince: null,
  previousSecretUntil: null,
} as const;
const delivered = {
  deliveryId: DELIVERY_ID,
  event: "run.finished",
  runId: "019a2c43-f5a0-7d18-b6c9-2e4f7a1d0c35",
  state: "delivered",
  createdAt: "2026-11-22T10:04:11.000Z",
  attempts: 1,
  nextAttemptAt: null,
  lastAttemptAt: "2026-11-22T10:04:11.480Z",
  statusCode: 204,
  fault: null,
  durationMs: 93,
} as const;
const pending = {
  ...delivered,
  state: "pending",
  attempts: 0,
  nextAttemptAt: "2026-11-22T10:05:00.000Z",
  lastAttemptAt: null,
  statusCode: null,
  durationMs: null,
} as const;
const alert = { below: 500, isLow: false } as const;

export const webhooksExamples: ExamplesOf<ShapesOf<typeof webhooksSchemas>> = {
  listWebhooks: { parameters: { limit: 10 }, data: { rows: [webhook], hasMore: false } },
  createWebhook: {
    bodies: { two: { url: webhook.url, events: [...webhook.events] } },
    data: { ...webhook, secret: SECRET },
  },
  getWebhook: { parameters: { webhookId: WEBHOOK_ID }, data: webhook },
  updateWebhook: {
    parameters: { webhookId: WEBHOOK_ID },
    bodies: { events: { events: ["run.finished"] }, disable: { isEnabled: false } },
    data: { ...webhook, events: ["run.finished"] },
  },
  deleteWebhook: { parameters: { webhookId: WEBHOOK_ID }, data: webhook },
  rollWebhookSecret: {
    parameters: { webhookId: WEBHOOK_ID },
    data: { ...webhook, previousSecretUntil: "2026-11-23T10:00:00.000Z", secret: SECRET },
  },
  testWebhook: {
    parameters: { webhookId: WEBHOOK_ID },
    data: { ...pending, event: "webhook.test", runId: null },
  },
  listDeliveries: {
    parameters: { webhookId: WEBHOOK_ID, limit: 10, state: "delivered" },
    data: { rows: [delivered], hasMore: false },
  },
  repeatDelivery: { parameters: { webhookId: WEBHOOK_ID, deliveryId: DELIVERY_ID }, data: pending },
  getCreditsAlert: { data: alert },
  setCreditsAlert: { bodies: { alert: { below: 500 }, none: { below: null } }, data: alert },
};
