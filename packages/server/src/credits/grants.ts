import { countOf } from "@promptd/contract";
import { isoTime } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import { invalid, type Problem } from "../platform/problem.ts";
import { availableCredits, grantCredits, type Grant, type UsedGrant } from "./ledger.ts";

export interface NewGrant extends Omit<Grant, "expiresAt"> {
  /** Milliseconds since 1970; null: never. */
  readonly expiresAtMs: number | null;
}

/**
 * Grants credits once per account and idempotency key: a repeat changes nothing, however late it comes.
 * `credits`: what the account can spend afterwards.
 * @throws Problem VALIDATION_ERROR if the key was used for another amount or expiry, or if a new grant has already
 * expired.
 */
export async function giveCredits(
  db: Database,
  { expiresAtMs, ...grant }: NewGrant,
  nowMs: number,
): Promise<{ credits: number; isGranted: boolean }> {
  const expiresAt = expiresAtMs === null ? null : isoTime(expiresAtMs);
  const isPast = expiresAtMs !== null && expiresAtMs <= nowMs;
  const outcome = await db.tx(async (tx) => {
    const granted = await grantCredits(tx, { ...grant, expiresAt });
    // Not checked earlier, because repeating a grant after its expiry is fine.
    if (granted.kind === "granted" && isPast) throw pastExpiry(expiresAt);
    return granted;
  });
  if (outcome.kind === "conflict") throw keyUsed(grant.idempotencyKey, outcome.used);
  return { credits: await availableCredits(db, grant.accountId), isGranted: outcome.kind === "granted" };
}

function pastExpiry(expiresAt: string | null): Problem {
  const message = `The expiry ${expiresAt} is in the past, so nothing was granted. Choose a later time, or leave the expiry out for credits that never expire.`;
  return invalid([{ path: ["body", "expiresAt"], code: "invalid_value", message }]);
}

function keyUsed(idempotencyKey: string, { amount, expiresAt, at }: UsedGrant): Problem {
  const [date] = at.toISOString().split("T");
  const expiry =
    expiresAt === null
      ? "without an expiry"
      : `with the expiry ${expiresAt.toISOString().slice(0, 16).replace("T", " at ")} UTC`;
  const message = `The idempotency key "${idempotencyKey}" was already used on ${date} for ${countOf(amount, "credit")} ${expiry}. Nothing was granted; use another key.`;
  return invalid([{ path: ["header", "Idempotency-Key"], code: "conflict", message }]);
}
