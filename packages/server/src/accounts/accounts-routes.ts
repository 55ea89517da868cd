import { USER_FLAGS } from "@promptd/contract";
import type { Handlers } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { findAccount } from "./accounts-store.ts";

export function accountsRoutes(db: Database): Pick<Handlers, "getMe"> {
  return {
    getMe: async (_input, { caller }) => {
      const account = await findAccount(db, caller.accountId);
      if (account === null) throw new Error(`The key ${caller.keyId} belongs to no account.`);
      const { username, displayName } = account;
      const plan = account.isPro ? USER_FLAGS.planActive : 0;
      return { data: { username, displayName, userFlags: account.userFlags | plan } };
    },
  };
}
