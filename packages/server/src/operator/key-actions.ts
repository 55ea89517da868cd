import {
  createApiKey,
  describeKey,
  getAccountByName,
  getAccountEvenDeleted,
  getApiKeyByName,
  hashApiKey,
  listKeys,
  refusePastExpiry,
  revokeApiKey,
  rollApiKey,
} from "../accounts/index.ts";
import { isoTime, systemClock } from "../platform/clock.ts";
import type { CommandContext } from "../read-catalogue.ts";
import { isUuid } from "../platform/ids.ts";
import { Problem } from "../platform/problem.ts";
import { revokeAnyToken, type RevokedToken } from "../people/tokens-store.ts";
import { noPromptId } from "./prompt-actions.ts";

export interface NewApiKey {
  readonly user: string;
  readonly name: string;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAtMs: number | null;
  /** Credits per calendar month (UTC); null: no limit. */
  readonly monthlyCap: number | null;
  /** Empty: all. */
  readonly promptIds: readonly string[];
}

export type ApiKeyReport = ReturnType<typeof describeKey>;

/** Operator actions on API keys, which are named by id, by display form, or by the key itself, and on tokens. */
export function keyActions({ db, newId }: CommandContext) {
  return {
    async create(key: NewApiKey): Promise<{ keyId: string; apiKey: string }> {
      const wrong = key.promptIds.find((id) => !isUuid(id));
      if (wrong !== undefined) throw noPromptId(wrong);
      const expiresAt = key.expiresAtMs === null ? null : isoTime(key.expiresAtMs);
      refusePastExpiry(expiresAt, systemClock.nowMs());
      const { accountId } = await getAccountByName(db, key.user);
      return createApiKey(db, newId, {
        accountId,
        name: key.name,
        expiresAt,
        monthlyCap: key.monthlyCap,
        promptIds: key.promptIds.length === 0 ? null : key.promptIds,
      });
    },
    /** Newest first. */
    async list(user: string): Promise<ApiKeyReport[]> {
      const { accountId } = await getAccountEvenDeleted(db, user);
      return (await listKeys(db, accountId)).map(describeKey);
    },
    /** A key of any account. */
    async show(name: string): Promise<ApiKeyReport & { readonly userId: string; readonly email: string }> {
      const key = await getApiKeyByName(db, name);
      const { accountId, email } = await getAccountEvenDeleted(db, key.accountId);
      return { ...describeKey(key), userId: accountId, email };
    },
    /** The old key stays valid for `overlapSeconds`. */
    async roll(
      name: string,
      overlapSeconds: number,
    ): Promise<{ keyId: string; apiKey: string; oldKeyId: string; oldKeyExpiresAt: string }> {
      const old = await getApiKeyByName(db, name);
      const rolled = await rollApiKey(db, newId, old, overlapSeconds);
      if (rolled === null) throw new Error(`The key ${old.keyId} disappeared while it was being rolled.`);
      return { ...rolled, oldKeyId: old.keyId };
    },
    async revoke(name: string): Promise<{ keyId: string; revokedAt: string }> {
      const { keyId, revokedAt } = await revokeApiKey(db, name);
      return { keyId, revokedAt: revokedAt.toISOString() };
    },
    /**
     * Revokes a management token of any person.
     * @param name its id, or the token itself.
     */
    async revokeToken(name: string): Promise<RevokedToken> {
      const revoked = await revokeAnyToken(db, isUuid(name) ? { tokenId: name } : { hash: hashApiKey(name) });
      if (revoked !== null) return revoked;
      const what = isUuid(name) ? `has the id "${name}"` : "has this value";
      throw new Problem("NOT_FOUND_ERROR", `No management token ${what}. Name it by its id, or pass the whole token.`);
    },
  };
}
