/** Signatures according to Standard Webhooks 1.0 (https://www.standardwebhooks.com). */
import { createHmac } from "node:crypto";

/**
 * @param id the same for every attempt, so that a receiver can recognize the event.
 * @param sentAt the time of this attempt, in seconds since 1970.
 * @param secrets the current one, and for a while after a roll the previous one: a receiver needs only one matching
 * signature.
 */
export function signatureHeaders(
  { id, sentAt, body }: { readonly id: string; readonly sentAt: number; readonly body: string },
  secrets: readonly Buffer[],
): Record<string, string> {
  const signed = `${id}.${sentAt}.${body}`;
  const signatures = secrets.map((secret) => `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(sentAt),
    "webhook-signature": signatures.join(" "),
  };
}
