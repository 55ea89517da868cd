import type { AccountDeletion, DeletedAccount } from "@promptd/contract/manage";
import { findListedAccount } from "../accounts/index.ts";
import type { ManageHandlers, StreamAnswer } from "../http/endpoint.ts";
import { actorOf } from "../people/index.ts";
import { invalid, orNotFound } from "../platform/problem.ts";
import { beginDeletion, type DeletionRequest } from "./delete-account.ts";
import { findDeletion } from "./deletions-store.ts";
import { exportAccount, type ExportPorts } from "./export-account.ts";

export interface OffboardingOptions extends ExportPorts {
  /** Continues deletions that have begun: called at once, so that nobody waits for the next tick. */
  readonly finishDeletions: () => Promise<void>;
}

export function offboardingManageRoutes(options: OffboardingOptions) {
  return {
    exportAccount: (_input, { caller }) => download(caller.accountId, options),
    exportAccountOf: ({ params: { accountId } }) => download(accountId, options),
    deleteAccount: async ({ body }, context) => {
      const deletion = { ...body, accountId: context.caller.accountId, actorId: actorOf(context).personId };
      return { data: await deleteConfirmed(deletion, options) };
    },
    deleteAccountOf: async ({ params: { accountId }, body }) => ({
      data: await deleteConfirmed({ ...body, accountId, actorId: null }, options),
    }),
    getAccountDeletion: async ({ params: { accountId } }) => {
      return { data: orNotFound(await findDeletion(options.db, accountId), "account deletion", accountId) };
    },
  } satisfies Partial<ManageHandlers>;
}

async function deleteConfirmed(
  { accountId, actorId, confirm, prompts }: AccountDeletion & DeletionRequest,
  { db, finishDeletions }: OffboardingOptions,
): Promise<DeletedAccount> {
  const account = orNotFound(await findListedAccount(db, accountId), "account", accountId);
  if (confirm.toLowerCase() !== account.email) {
    const message = "confirm must be the email address of the account that you are deleting.";
    throw invalid([{ path: ["body", "confirm"], code: "invalid_value", message }]);
  }
  const deletion = await beginDeletion(db, { accountId, prompts, actorId });
  void finishDeletions().catch(() => undefined); // the next tick retries what fails now, and logs it
  return deletion;
}

async function download(accountId: string, options: OffboardingOptions): Promise<StreamAnswer> {
  const body = await exportAccount(accountId, options);
  const headers = {
    "content-type": "application/gzip",
    "content-disposition": `attachment; filename="promptd-${accountId}.tar.gz"`,
    "cache-control": "no-store",
  };
  return { status: 200, headers, body };
}
