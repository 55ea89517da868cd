/** What owners and operators do with API keys. What a key may do is decided where it is used. */
import type { Key } from "@promptd/contract/manage";
import type { Database, Queryable } from "../platform/database/database.ts";
import { isUuid } from "../platform/ids.ts";
import { invalid, Problem } from "../platform/problem.ts";
import { displayOf, hashApiKey, mintApiKey } from "./api-keys.ts";
import {
  countValidKeys,
  expireKeyIn,
  findKey,
  findKeysByName,
  findNextKey,
  hasValidKey,
  insertKey,
  revokeKey,
  updateKey,
  type ApiKey,
  type KeyName,
  type KeyOfAccount,
  type KeyTerms,
  type NewKey,
} from "./keys-store.ts";

const KEYS_PER_ACCOUNT_MAX = 20;

export interface CreateApiKey extends Partial<Omit<KeyTerms, "name">> {
  readonly accountId: string;
  readonly name: string;
}

/** The whole key, which can never be shown again. */
export interface CreatedApiKey {
  readonly keyId: string;
  readonly apiKey: string;
}

/** For new keys only: an existing key may be ended with a time in the past and revived later. @throws Problem. */
export function refusePastExpiry(expiresAt: string | null | undefined, nowMs: number): void {
  if (expiresAt == null || Date.parse(expiresAt) > nowMs) return;
  const message = `The expiry ${expiresAt} is in the past, so no key was created. Choose a later time, or leave the expiry out for a key that never expires.`;
  throw invalid([{ path: ["body", "expiresAt"], code: "invalid_value", message }]);
}

/** @throws Problem VALIDATION_ERROR if the account has 20 valid keys. */
export async function createApiKey(db: Database, newId: () => string, key: CreateApiKey): Promise<CreatedApiKey> {
  const { expiresAt = null, monthlyCap = null, promptIds = null, name, accountId } = key;
  return db.tx((tx) =>
    insertNewKey(tx, newId(), { accountId, name, expiresAt, monthlyCap, promptIds, rolledFrom: null }),
  );
}

async function insertNewKey(
  tx: Queryable,
  keyId: string,
  key: Omit<NewKey, "keyId" | "keyHash" | "display">,
): Promise<CreatedApiKey> {
  if ((await countValidKeys(tx, key.accountId)) >= KEYS_PER_ACCOUNT_MAX) throw tooManyKeys(["body", "name"]);
  const apiKey = mintApiKey();
  await insertKey(tx, { ...key, keyId, keyHash: hashApiKey(apiKey), display: displayOf(apiKey) });
  return { keyId, apiKey };
}

function tooManyKeys(path: readonly string[]): Problem {
  const message = `The account already has ${KEYS_PER_ACCOUNT_MAX} valid keys, the maximum. Revoke one first.`;
  return invalid([{ path: [...path], code: "too_many", message }]);
}

/**
 * Changes the given terms of a key. @returns the changed key, or null if the account has no such key.
 * @throws Problem VALIDATION_ERROR if it is revoked, or would become valid again as the 21st key.
 */
export async function updateApiKey(
  db: Database,
  key: KeyOfAccount,
  changes: Partial<KeyTerms>,
): Promise<ApiKey | null> {
  return db.tx(async (tx) => {
    const valid = await countValidKeys(tx, key.accountId); // for its lock: two changes run one after the other
    const before = await findKey(tx, key);
    if (before === null) return null;
    const { name, expiresAt, monthlyCap, promptIds } = { ...before, ...changes };
    if (!(await updateKey(tx, key, { name, expiresAt, monthlyCap, promptIds }))) throw alreadyRevoked(before);
    const after = await findKey(tx, key);
    const isBack = before.state === "expired" && after?.state === "valid";
    if (isBack && valid >= KEYS_PER_ACCOUNT_MAX) throw tooManyKeys(["body", "expiresAt"]);
    return after;
  });
}

/**
 * Replaces a key with a new one that has the same name, cap, prompts, and budget. The old key stays valid for
 * `overlapSeconds`. @returns null if the account has no such key. @throws Problem VALIDATION_ERROR if the old key is no
 * longer valid or was already rolled, or if the account has too many keys.
 */
export async function rollApiKey(
  db: Database,
  newId: () => string,
  key: KeyOfAccount,
  overlapSeconds: number,
): Promise<(CreatedApiKey & { readonly oldKeyExpiresAt: string }) | null> {
  return db.tx(async (tx) => {
    await countValidKeys(tx, key.accountId);
    const old = await findKey(tx, key);
    if (old === null) return null;
    if (old.revokedAt !== null) throw alreadyRevoked(old);
    if (old.state === "expired") throw notValid("The key has expired. Create a new one.");
    const next = await findNextKey(tx, key);
    if (next !== null) throw notValid(`This key was already rolled and expires soon. Roll ${next} instead.`);
    await expireKeyIn(tx, key.keyId, overlapSeconds);
    const created = await insertNewKey(tx, newId(), {
      accountId: old.accountId,
      name: old.name,
      expiresAt: old.expiresAt,
      monthlyCap: old.monthlyCap,
      promptIds: old.promptIds,
      rolledFrom: old.keyId,
    });
    const ending = await findKey(tx, key);
    if (ending?.expiresAt == null) throw new Error(`The key ${key.keyId} was rolled and has no expiry.`);
    return { ...created, oldKeyExpiresAt: ending.expiresAt };
  });
}

function alreadyRevoked({ revokedAt }: ApiKey): Problem {
  return notValid(`This key was revoked on ${revokedAt?.slice(0, 10)}. Create a new one.`);
}

function notValid(message: string): Problem {
  return invalid([{ path: ["path", "keyId"], code: "invalid_value", message }]);
}

/** Revokes a key of the account; null: it has no such key. Idempotent. */
export async function revokeOwnKey(db: Database, key: KeyOfAccount): Promise<ApiKey | null> {
  if ((await findKey(db, key)) === null) return null;
  await revokeKey(db, key.keyId);
  return findKey(db, key);
}

/**
 * Gets the one key of any account that a text names by its id, its display form ("pd_01234…6789", or with three dots
 * for the ellipsis), or the key itself. @throws Problem NOT_FOUND_ERROR, or VALIDATION_ERROR if several keys have the
 * display form.
 */
export async function getApiKeyByName(db: Database, text: string): Promise<ApiKey> {
  const keys = await findKeysByName(db, readKeyName(text));
  const [key] = keys;
  if (key === undefined) {
    const what = isUuid(text) ? `has the id "${text}"` : "has this display form or value";
    throw new Problem(
      "NOT_FOUND_ERROR",
      `No API key ${what}. Name it by its id or display form, which "promptd admin key list" shows, or pass the whole key.`,
    );
  }
  if (keys.length > 1) {
    const ids = keys.map(({ keyId, name }) => `${keyId} (${name})`).join(", ");
    throw new Problem("VALIDATION_ERROR", `Several keys have this display form. Name one by its id: ${ids}.`);
  }
  return key;
}

const DISPLAY = /^(?<start>pd_[0-9A-Za-z]{5})(?:…|\.\.\.?)(?<end>[0-9A-Za-z]{4})$/;

function readKeyName(text: string): KeyName {
  if (isUuid(text)) return { keyId: text };
  const { start, end } = DISPLAY.exec(text)?.groups ?? {};
  return start === undefined ? { keyHash: hashApiKey(text) } : { display: `${start}…${end}` };
}

/** Revokes a key of any account, by any name that `getApiKeyByName` accepts. @throws Problem as that does. */
export async function revokeApiKey(db: Database, name: string): Promise<{ keyId: string; revokedAt: Date }> {
  const { keyId } = await getApiKeyByName(db, name);
  const revokedAt = await revokeKey(db, keyId);
  if (revokedAt === null) throw new Error(`The key ${keyId} no longer exists.`);
  return { keyId, revokedAt };
}

/** Whether this key would be admitted now, apart from plan and rate limit. */
export function isLiveKey(db: Database, apiKey: string): Promise<boolean> {
  return hasValidKey(db, hashApiKey(apiKey));
}

/** Returns what can be shown of a key. */
export function describeKey({ accountId: _accountId, ...shown }: ApiKey): Omit<Key, "last30Days"> {
  return shown;
}
