import type { OutputItem, RunStatus } from "../runs.ts";

/** What a webhook can ask for. */
export const WEBHOOK_EVENTS = ["run.finished", "credits.low", "prompt.model_retiring"] as const;
export type WebhookEventName = (typeof WEBHOOK_EVENTS)[number];

/** Sent when somebody asks for a test. */
export const WEBHOOK_TEST = "webhook.test";

/** An address of the account's that events are sent to. */
export interface Webhook {
  readonly webhookId: string;
  readonly url: string;
  readonly events: readonly WebhookEventName[];
  readonly createdAt: string;
  /** Null: it is enabled. */
  readonly disabledAt: string | null;
  /** Why it is disabled, as a sentence; null: it is enabled. */
  readonly disabledReason: string | null;
  /** Since when no delivery has succeeded; null: the last one did, or there was none. */
  readonly failingSince: string | null;
  /** Until then events are signed with the secret before the last roll as well; null: with one secret. */
  readonly previousSecretUntil: string | null;
}

export interface CreatedWebhook extends Webhook {
  /** `whsec_…`, for the only time: who has it can verify events, and sign some. */
  readonly secret: string;
}

export interface NewWebhook {
  /** https, on port 443, of a public host; any http or https address where the installation allows private ones. */
  readonly url: string;
  readonly events: readonly WebhookEventName[];
}

/** What is absent stays as it is. */
export interface WebhookChanges {
  readonly url?: string | undefined;
  readonly events?: readonly WebhookEventName[] | undefined;
  /** False: no events are recorded for it, and those that wait are given up. */
  readonly isEnabled?: boolean | undefined;
}

export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One event for one webhook, with what became of it. */
export interface Delivery {
  /** The header `webhook-id` of each attempt. */
  readonly deliveryId: string;
  readonly event: WebhookEventName | typeof WEBHOOK_TEST;
  /** Of `run.finished`; null: of another event. */
  readonly runId: string | null;
  readonly state: DeliveryState;
  readonly createdAt: string;
  readonly attempts: number;
  /** Null: it is being sent, or is not pending. */
  readonly nextAttemptAt: string | null;
  /** Null: never yet. */
  readonly lastAttemptAt: string | null;
  /** What the receiver answered to the last attempt; null: it has not answered. */
  readonly statusCode: number | null;
  /** Why the last attempt did not succeed; null: it did, or there was none. */
  readonly fault: string | null;
  /** Of the last attempt. */
  readonly durationMs: number | null;
}

/** When `credits.low` is sent: once the credits that can be spent are fewer than `below`, until they are not. */
export interface CreditsAlert {
  /** Null: never. */
  readonly below: number | null;
  /** True: they were, when they were last compared. */
  readonly isLow: boolean;
}

/** The body of a request to a webhook. New members and new types of events may come: ignore what you do not know. */
export type WebhookEvent =
  | EventOf<"run.finished", FinishedRunData>
  | EventOf<"credits.low", CreditsLowData>
  | EventOf<"prompt.model_retiring", ModelRetiringData>
  | EventOf<typeof WEBHOOK_TEST, { readonly message: string }>;

interface EventOf<Type extends string, Data> {
  readonly type: Type;
  /** When it happened, ISO 8601. */
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
  /** Such as `canceled`; null: it succeeded. */
  readonly reason: string | null;
  readonly createdAt: string;
  readonly finishedAt: string;
  /** As `GET /v1/runs/:runId` shows them; null: they are larger than an event may be, read them there. */
  readonly outputs: readonly OutputItem[] | null;
}

export interface CreditsLowData {
  /** That can be spent. */
  readonly available: number;
  /** The threshold of the account. */
  readonly below: number;
}

export interface ModelRetiringData {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly slug: string;
  readonly title: string;
  readonly model: string;
  /** The first day (UTC) on which runs are refused. */
  readonly retiresAt: string;
  /** Null: none is named. */
  readonly successor: string | null;
}
