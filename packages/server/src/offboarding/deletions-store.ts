import type { DeletedAccount } from "@promptd/contract/manage";
import { queryAnswer, queryAnswers } from "../platform/database/answers.ts";
import type { Queryable, Tx } from "../platform/database/database.ts";

const COLUMNS = `account_id as "accountId", prompts, asked_at as "askedAt", finished_at as "finishedAt"`;
/** By then, requests admitted before the deletion have committed whatever they were still creating. */
const LAST_REQUESTS = "1 minute";

/** Null: the account is already deleted. */
export function insertDeletion(
  tx: Tx,
  accountId: string,
  prompts: DeletedAccount["prompts"],
): Promise<DeletedAccount | null> {
  return queryAnswer(
    tx,
    `insert into account_deletions (account_id, prompts) values ($1, $2) on conflict do nothing returning ${COLUMNS}`,
    [accountId, prompts],
  );
}

export function findDeletion(db: Queryable, accountId: string): Promise<DeletedAccount | null> {
  return queryAnswer(db, `select ${COLUMNS} from account_deletions where account_id = $1`, [accountId]);
}

export function listOpenDeletions(db: Queryable): Promise<DeletedAccount[]> {
  return queryAnswers(db, `select ${COLUMNS} from account_deletions where finished_at is null order by asked_at`);
}

/** A deletion finishes at the earliest a minute after it began: until then something may still have been created. */
export async function finishDeletion(db: Queryable, accountId: string): Promise<boolean> {
  const rows = await db.query(
    `update account_deletions set finished_at = promptd_now()
     where account_id = $1 and asked_at <= promptd_now() - interval '${LAST_REQUESTS}' returning 1`,
    [accountId],
  );
  return rows.length === 1;
}
