import type { OutputItem, RunStatus } from "../runs.ts";

/** Event types that a webhook can subscribe to. */
export const WEBHOOK_EVENTS = ["run.finished", "credits.low", "prompt.model_retiring"] as const;
export type WebhookEventName = (typeof WEBHOOK_EVENTS)[number];

/** Sent when somebody requests a test. */
export const WEBHOOK_TEST = "webhook.test";

/** An address of the account's that events are sent to. */
export interface Webhook {
  readonly webhookId: string;
  readonly url: string;
  readonly events: readonly WebhookEventName[];
  readonly createdAt: string;
  /** Null: it is enabled. */
  readonly disabledAt: string | null;
  /** Why the webhook is disabled, for display; null: it is enabled. */
  readonly disabledReason: string | null;
  /** Since when deliveries have been failing; null: the last one succeeded, or there was none. */
  readonly failingSince: string | null;
  /** Until then, events are also signed with the previous secret; null: only with the current one. */
  readonly previousSecretUntil: string | null;
}

export interface CreatedWebhook extends Webhook {
  /** `whsec_…`, shown only this once. Anyone who has it can verify and forge events. */
  readonly secret: string;
}

export interface NewWebhook {
  /**
   * An https address of a public host on port 443; any http or https address if the installation allows private ones.
   */
  readonly url: string;
  readonly events: readonly WebhookEventName[];
}

/** Absent members stay unchanged. */
export interface WebhookChanges {
  readonly url?: string | undefined;
  readonly events?: readonly WebhookEventName[] | undefined;
  /** False: no events are recorded, and pending deliveries are given up. */
  readonly isEnabled?: boolean | undefined;
}

export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One event for one webhook, and the state of its delivery. */
export interface Delivery {
  /** The `webhook-id` header of each attempt. */
  readonly deliveryId: string;
  readonly event: WebhookEventName | typeof WEBHOOK_TEST;
  /** The run of `run.finished`; null for other events. */
  readonly runId: string | null;
  readonly state: DeliveryState;
  readonly createdAt: string;
  readonly attempts: number;
  /** Null: being sent, or not pending. */
  readonly nextAttemptAt: string | null;
  /** Null: not yet. */
  readonly lastAttemptAt: string | null;
  /** The receiver's response status of the last attempt; null: no response. */
  readonly statusCode: number | null;
  /** Why the last attempt failed; null: it succeeded, or there was none. */
  readonly fault: string | null;
  /** Of the last attempt. */
  readonly durationMs: number | null;
}

/** When `credits.low` is sent: once, when the available credits drop below `below`. */
export interface CreditsAlert {
  /** Null: never. */
  readonly below: number | null;
  /** True: the credits were below the threshold at the last check. */
  readonly isLow: boolean;
}

/** The body of a webhook request. New members and event types may be added: ignore unknown ones. */
export type WebhookEvent =
  | EventOf<"run.finished", FinishedRunData>
  | EventOf<"credits.low", CreditsLowData>
  | EventOf<"prompt.model_retiring", ModelRetiringData>
  | EventOf<typeof WEBHOOK_TEST, { readonly message: string }>;

interface EventOf<Type extends string, Data> {
  readonly type: Type;
  /** When the event happened, ISO 8601. */
  readonly timestamp: string;
  readonly data: Data;
}

export interface FinishedRunData {
  readonly runId: string;
  readonly runStatus: Extract<RunStatus, "succeeded" | "failed">;
  readonly promptVersionId: string;
  readonly runName: string;
  /** Charged; null: a free run. */
  readonly credits: number | null;
  /** Such as `canceled`; null: the run succeeded. */
  readonly reason: string | null;
  readonly createdAt: string;
  readonly finishedAt: string;
  /** As `GET /v1/runs/:runId` returns them; null: too large for an event, so read them there. */
  readonly outputs: readonly OutputItem[] | null;
}

export interface CreditsLowData {
  /** Credits that can be spent. */
  readonly available: number;
  /** The account's threshold. */
  readonly below: number;
}

export interface ModelRetiringData {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly slug: string;
  readonly title: string;
  readonly model: string;
  /** The first day (UTC) on which runs are rejected. */
  readonly retiresAt: string;
  /** Null: there is no replacement. */
  readonly successor: string | null;
}
