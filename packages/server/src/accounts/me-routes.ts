import { USER_FLAGS } from "@promptd/contract";
import type { Handlers } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { createBatcher } from "../platform/resilience/batcher.ts";
import { findAccounts } from "./accounts-store.ts";

/** As many as an admission has: those that it admits together are read together. */
const READ_TOGETHER = { max: 500, inFlightMax: 3 };

export function meRoutes(db: Database): Pick<Handlers, "getMe"> {
  const findAccount = createBatcher({ send: (ids: readonly string[]) => findAccounts(db, ids), ...READ_TOGETHER });
  return {
    getMe: async (_input, { caller }) => {
      const account = await findAccount(caller.accountId);
      if (account === null) throw new Error(`The key ${caller.keyId} belongs to no account.`);
      const { username, displayName } = account;
      const plan = account.isPro ? USER_FLAGS.planActive : 0;
      return { data: { username, displayName, userFlags: account.userFlags | plan } };
    },
  };
}
