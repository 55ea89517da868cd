import { z } from "zod";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { checkPageQuery, defineField, report, uuidField } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import {
  DELIVERY_STATES,
  WEBHOOK_EVENTS,
  WEBHOOK_TEST,
  type CreatedWebhook,
  type CreditsAlert,
  type Delivery,
  type NewWebhook,
  type Webhook,
  type WebhookChanges,
} from "../webhooks.ts";
import { booleanField, integerField, none, pageOf, pageQuery, textField, wordField } from "./request-fields.ts";

const URL_LENGTH_MAX = 2_048;
const CREDITS_MAX = 1_000_000_000_000;

const webhookMembers = {
  webhookId: idSchema,
  url: z.string(),
  events: z.array(z.enum(WEBHOOK_EVENTS)),
  createdAt: timeSchema,
  disabledAt: timeSchema.nullable(),
  disabledReason: z.string().nullable(),
  failingSince: timeSchema.nullable(),
  previousSecretUntil: timeSchema.nullable(),
} as const;
const webhookSchema: z.ZodType<Webhook> = z.strictObject(webhookMembers);
const createdSchema: z.ZodType<CreatedWebhook> = z.strictObject({ ...webhookMembers, secret: z.string() });

const deliverySchema: z.ZodType<Delivery> = z.strictObject({
  deliveryId: idSchema,
  event: z.enum([...WEBHOOK_EVENTS, WEBHOOK_TEST]),
  runId: idSchema.nullable(),
  state: z.enum(DELIVERY_STATES),
  createdAt: timeSchema,
  attempts: countSchema,
  nextAttemptAt: timeSchema.nullable(),
  lastAttemptAt: timeSchema.nullable(),
  statusCode: z.int().nullable(),
  fault: z.string().nullable(),
  durationMs: countSchema.nullable(),
});

const eventsField = defineField<NewWebhook["events"]>(
  { type: "array", items: { type: "string", enum: [...WEBHOOK_EVENTS] }, minItems: 1, uniqueItems: true },
  (payload) => {
    const { value } = payload;
    const known: readonly unknown[] = WEBHOOK_EVENTS;
    const isList = Array.isArray(value) && value.length > 0 && value.every((event) => known.includes(event));
    if (isList) payload.value = WEBHOOK_EVENTS.filter((event) => value.includes(event));
    else {
      const message = `events must be a list of at least one of: ${WEBHOOK_EVENTS.join(", ")}.`;
      report(payload, { code: value === undefined ? "required" : "invalid_value", message });
    }
  },
);

const newSchema = z.object({
  url: textField("url", URL_LENGTH_MAX),
  events: eventsField,
}) satisfies z.ZodType<NewWebhook>;
const changesSchema = z.object({
  url: textField("url", URL_LENGTH_MAX).optional(),
  events: eventsField.optional(),
  isEnabled: booleanField("isEnabled").optional(),
}) satisfies z.ZodType<WebhookChanges>;

const alertSchema: z.ZodType<CreditsAlert> = z.strictObject({ below: countSchema.nullable(), isLow: z.boolean() });

const webhookId = z.object({ webhookId: uuidField("webhookId") });
const deliveryId = z.object({ webhookId: uuidField("webhookId"), deliveryId: uuidField("deliveryId") });
const deliveriesQuery = pageQuery
  .extend({ state: wordField("state", DELIVERY_STATES).optional() })
  .check(checkPageQuery);

export const webhooksSchemas = {
  listWebhooks: { params: none, query: pageQuery.check(checkPageQuery), body: null, data: pageOf(webhookSchema) },
  createWebhook: { params: none, query: none, body: newSchema, data: createdSchema },
  getWebhook: { params: webhookId, query: none, body: null, data: webhookSchema },
  updateWebhook: { params: webhookId, query: none, body: changesSchema, data: webhookSchema },
  deleteWebhook: { params: webhookId, query: none, body: null, data: webhookSchema },
  rollWebhookSecret: { params: webhookId, query: none, body: null, data: createdSchema },
  testWebhook: { params: webhookId, query: none, body: null, data: deliverySchema },
  listDeliveries: { params: webhookId, query: deliveriesQuery, body: null, data: pageOf(deliverySchema) },
  repeatDelivery: { params: deliveryId, query: none, body: null, data: deliverySchema },
  getCreditsAlert: { params: none, query: none, body: null, data: alertSchema },
  setCreditsAlert: {
    params: none,
    query: none,
    body: z.object({ below: integerField("below", [1, CREDITS_MAX]).nullable() }),
    data: alertSchema,
  },
} satisfies Record<string, EndpointSchemas>;
