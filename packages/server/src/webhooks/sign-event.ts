/** Signatures by the specification Standard Webhooks 1.0 (https://www.standardwebhooks.com). */
import { createHmac } from "node:crypto";

/**
 * @param id the same at every attempt, by which a receiver knows an event again.
 * @param sentAt of this attempt, seconds since 1970.
 * @param secrets the present one, and while a roll is fresh the one before: a receiver needs one signature that fits.
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
