import type { CreatedKey, Key, KeyChanges, RecentUsage } from "@promptd/contract/manage";
import type { ManageHandlers } from "../http/endpoint.ts";
import { isoTime, type Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import { notFound, orNotFound } from "../platform/problem.ts";
import {
  createApiKey,
  describeKey,
  refusePastExpiry,
  revokeOwnKey,
  rollApiKey,
  updateApiKey,
  type CreatedApiKey,
} from "./keys.ts";
import { findKey, readKeyPage, type ApiKey, type KeyTerms } from "./keys-store.ts";

export interface KeysRoutesOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Usage of the last 30 days; keys without any are missing. */
  readonly usageOfKeys: (accountId: string) => Promise<ReadonlyMap<string, RecentUsage>>;
}

const OVERLAP_HOURS_DEFAULT = 24;
const UNUSED: RecentUsage = { runs: 0, failed: 0, credits: 0 };

/** Keys of the chosen account. Another account's key gets the same 404 as a key that does not exist. */
export function keysManageRoutes({ db, clock, newId, usageOfKeys }: KeysRoutesOptions) {
  const show = async (accountId: string, key: ApiKey | null, keyId: string): Promise<Key> => {
    if (key === null) throw notFound("API key", keyId);
    return toKey(key, await usageOfKeys(accountId));
  };
  const created = async (accountId: string, { keyId, apiKey }: CreatedApiKey): Promise<CreatedKey> => {
    const key = orNotFound(await findKey(db, { accountId, keyId }), "API key", keyId);
    return { ...describeKey(key), last30Days: UNUSED, apiKey };
  };
  return {
    listKeys: async ({ query }, { caller: { accountId } }) => {
      const [page, usage] = await Promise.all([readKeyPage(db, accountId, query), usageOfKeys(accountId)]);
      return { data: { rows: page.rows.map((key) => toKey(key, usage)), hasMore: page.hasMore } };
    },
    createKey: async ({ body }, { caller: { accountId } }) => {
      const { name, ...terms } = body;
      refusePastExpiry(terms.expiresAt, clock.nowMs());
      const key = await createApiKey(db, newId, { ...toTerms(terms), name, accountId });
      return { data: await created(accountId, key) };
    },
    getKey: async ({ params: { keyId } }, { caller: { accountId } }) => ({
      data: await show(accountId, await findKey(db, { accountId, keyId }), keyId),
    }),
    updateKey: async ({ params: { keyId }, body }, { caller: { accountId } }) => ({
      data: await show(accountId, await updateApiKey(db, { accountId, keyId }, toTerms(body)), keyId),
    }),
    rollKey: async ({ params: { keyId }, body }, { caller: { accountId } }) => {
      const overlapHours = body.overlapHours ?? OVERLAP_HOURS_DEFAULT;
      const rolled = orNotFound(
        await rollApiKey(db, newId, { accountId, keyId }, overlapHours * 3_600),
        "API key",
        keyId,
      );
      const { oldKeyExpiresAt } = rolled;
      return { data: { ...(await created(accountId, rolled)), oldKeyId: keyId, oldKeyExpiresAt } };
    },
    revokeKey: async ({ params: { keyId } }, { caller: { accountId } }) => ({
      data: await show(accountId, await revokeOwnKey(db, { accountId, keyId }), keyId),
    }),
  } satisfies Partial<ManageHandlers>;
}

/** Contains only what was given. */
function toTerms({ name, expiresAt, monthlyCap, promptIds }: KeyChanges): Partial<KeyTerms> {
  return {
    ...(name === undefined ? {} : { name }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt && isoTime(Date.parse(expiresAt)) }),
    ...(monthlyCap === undefined ? {} : { monthlyCap }),
    ...(promptIds === undefined ? {} : { promptIds }),
  };
}

function toKey(key: ApiKey, usage: ReadonlyMap<string, RecentUsage>): Key {
  return { ...describeKey(key), last30Days: usage.get(key.keyId) ?? UNUSED };
}
