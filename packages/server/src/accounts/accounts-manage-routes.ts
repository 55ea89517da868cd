import type { AccountOfInstallation } from "@promptd/contract/manage";
import type { ManageHandlers } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { notFound, orNotFound } from "../platform/problem.ts";
import { setPlan } from "./accounts.ts";
import { findListedAccount, listAccounts, updateAccountName } from "./accounts-store.ts";

/** What operators see and decide about accounts, and how owners rename theirs. */
export function accountsManageRoutes(db: Database) {
  return {
    listAccounts: async ({ query }) => ({ data: await listAccounts(db, query) }),
    updateAccount: async ({ body: { name } }, { caller: { accountId } }) => {
      if (!(await updateAccountName(db, accountId, name))) throw notFound("account", accountId);
      return { data: { accountId, name } };
    },
    setPlan: async ({ params: { accountId }, body: { plan, until = null } }) => {
      await requireAccount(db, accountId);
      await setPlan(db, accountId, { plan, untilMs: until === null ? null : Date.parse(until) });
      return { data: await requireAccount(db, accountId) };
    },
  } satisfies Partial<ManageHandlers>;
}

async function requireAccount(db: Database, accountId: string): Promise<AccountOfInstallation> {
  return orNotFound(await findListedAccount(db, accountId), "account", accountId);
}
