/**
 * Deletes an account in two parts. The first is one transaction, after which nobody acts in the account: keys, tokens,
 * and sessions stop working in every process, no run that costs credits can begin, and the account's names are gone.
 * The second part removes the account's data. Whichever process finds it unfinished continues it, in steps that can be
 * repeated, so that no crash leaves anything behind.
 *
 * The journal and the daily usage sums remain, identified only by the account's id.
 */
import type { DeletedAccount } from "@promptd/contract/manage";
import { pseudonymizeAccount, revokeAllKeys } from "../accounts/index.ts";
import { adjustCredits, availableCredits, freezeAccount } from "../credits/index.ts";
import type { AccountFiles } from "../files/index.ts";
import { endAccountAccess } from "../people/index.ts";
import type { Database } from "../platform/database/database.ts";
import { doInBatches } from "../platform/periodic-work.ts";
import { orNotFound, Problem } from "../platform/problem.ts";
import type { Log } from "../platform/log.ts";
import { promptsOfAccount, unpublishPrompt } from "../prompts/index.ts";
import { cancelRunRow, runsOfAccount } from "../runs/index.ts";
import { webhooksOfAccount } from "../webhooks/index.ts";
import { finishDeletion, insertDeletion, listOpenDeletions } from "./deletions-store.ts";

export interface DeletionPorts {
  readonly db: Database;
  readonly log: Log;
  readonly files: AccountFiles;
  /** A run was canceled: notify its worker and everyone waiting for it. */
  readonly onCanceled: (runId: string) => void;
}

export interface DeletionRequest {
  readonly accountId: string;
  readonly prompts: DeletedAccount["prompts"];
  /** The person who asks for it; null: an operator. */
  readonly actorId: string | null;
}

const REASON = "The account was deleted.";
const BATCH = 200;

/**
 * Ends every way into the account, in one transaction.
 * @throws Problem NOT_FOUND_ERROR if it is already deleted; VALIDATION_ERROR while others need its person.
 */
export function beginDeletion(db: Database, { accountId, prompts, actorId }: DeletionRequest): Promise<DeletedAccount> {
  return db.tx(async (tx) => {
    const deletion = orNotFound(await insertDeletion(tx, accountId, prompts), "account", accountId);
    await endAccountAccess(tx, accountId, actorId);
    await revokeAllKeys(tx, accountId, REASON);
    await pseudonymizeAccount(tx, accountId);
    await promptsOfAccount.endShares(tx, accountId);
    await webhooksOfAccount.removeAll(tx, accountId);
    await freezeAccount(tx, accountId, REASON);
    return deletion;
  });
}

/** Continues every unfinished deletion. */
export async function finishDeletions(ports: DeletionPorts, stop?: AbortSignal): Promise<void> {
  for (const deletion of await listOpenDeletions(ports.db)) {
    if (stop?.aborted === true) return;
    await removeContent(deletion, ports, stop).catch((error: unknown) =>
      ports.log.error({ err: error, accountId: deletion.accountId }, "an account is not deleted yet; retrying"),
    );
  }
}

/** Held credits are returned before runs are deleted: a deleted run could not explain its hold. */
async function removeContent(
  { accountId, prompts }: DeletedAccount,
  ports: DeletionPorts,
  stop: AbortSignal | undefined,
): Promise<void> {
  const { db, files, log } = ports;
  const isStopped = () => stop?.aborted === true;
  await db.tx((tx) => revokeAllKeys(tx, accountId, REASON)); // a key may have been created while the first part committed
  if (prompts === "remove") await unpublishAll(db, accountId);
  await runsOfAccount.cancelBatches(db, accountId);
  await cancelAll(accountId, ports);
  await writeOffCredits(db, accountId);
  await files.removeAll(accountId, stop);
  await runsOfAccount.deleteIdempotencyKeys(db, accountId);
  await doInBatches(BATCH, () => runsOfAccount.deleteRuns(db, accountId, BATCH), stop);
  if (isStopped()) return;
  await runsOfAccount.deleteBatches(db, accountId);
  await webhooksOfAccount.deleteRemoved(db, stop);
  await db.tx((tx) => promptsOfAccount.withdrawVotes(tx, accountId));
  await db.tx((tx) => promptsOfAccount.deleteDraftsOf(tx, accountId));
  if (prompts === "remove" && !(await promptsOfAccount.erasePromptsOf(db, accountId))) return;
  if (!isStopped() && (await finishDeletion(db, accountId))) log.info({ accountId }, "an account was deleted");
}

async function unpublishAll(db: Database, accountId: string): Promise<void> {
  const next = () => promptsOfAccount.listPublishedOf(db, accountId, BATCH);
  for (let promptIds = await next(); promptIds.length > 0; promptIds = await next()) {
    for (const promptId of promptIds) {
      await unpublishPrompt(db, promptId).catch((error: unknown) => {
        // Another process may already have erased the prompt.
        if (!(error instanceof Problem && error.code === "NOT_FOUND_ERROR")) throw error;
      });
    }
  }
}

async function cancelAll(accountId: string, { db, onCanceled }: DeletionPorts): Promise<void> {
  const next = () => runsOfAccount.listActiveRuns(db, accountId, BATCH);
  for (let runIds = await next(); runIds.length > 0; runIds = await next()) {
    for (const runId of runIds) {
      await cancelRunRow(db, accountId, runId);
      onCanceled(runId);
    }
  }
}

/** Nobody can spend the remaining credits, and the journal records that they were written off. */
async function writeOffCredits(db: Database, accountId: string): Promise<void> {
  const available = await availableCredits(db, accountId);
  if (available === 0) return;
  await adjustCredits(db, { accountId, amount: -available, reason: REASON }).catch(async (error: unknown) => {
    if ((await availableCredits(db, accountId)) > 0) throw error; // otherwise another process was faster
  });
}
