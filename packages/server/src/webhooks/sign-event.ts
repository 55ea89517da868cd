/** Signatures by the specification Standard Webhooks 1.0 (https://www.standardwebhooks.com). */
import { createHmac } from "node:crypto";

export interface EventToSign {
  /** The same at every attempt, by which a receiver knows an event again. */
  readonly id: string;
  /** Of this attempt, seconds since 1970. */
  readonly sentAt: number;
  readonly body: string;
}

/** @param secrets the present one, and while a roll is fresh the one before: a receiver needs one signature that fits. */
export function signatureHeaders(event: EventToSign, secrets: readonly Buffer[]): Record<string, string> {
  const { id, sentAt, body } = event;
  const signed = `${id}.${sentAt}.${body}`;
  const signatures = secrets.map((secret) => `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(sentAt),
    "webhook-signature": signatures.join(" "),
  };
}
