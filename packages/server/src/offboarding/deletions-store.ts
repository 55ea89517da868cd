import type { DeletedAccount } from "@promptd/contract/manage";
import type { Queryable, Tx } from "../platform/database/database.ts";

interface DeletionRow {
  account_id: string;
  prompts: DeletedAccount["prompts"];
  asked_at: Date;
  finished_at: Date | null;
}

const COLUMNS = "account_id, prompts, asked_at, finished_at";
/** A request that was admitted before the deletion has ended by then, and with it whatever it still made. */
const LAST_REQUESTS = "1 minute";

/** Null: the account is deleted already. */
export async function insertDeletion(
  tx: Tx,
  accountId: string,
  prompts: DeletedAccount["prompts"],
): Promise<DeletedAccount | null> {
  const [row] = await tx.query<DeletionRow>(
    `insert into account_deletions (account_id, prompts) values ($1, $2) on conflict do nothing returning ${COLUMNS}`,
    [accountId, prompts],
  );
  return row === undefined ? null : toDeletion(row);
}

export async function findDeletion(db: Queryable, accountId: string): Promise<DeletedAccount | null> {
  const text = `select ${COLUMNS} from account_deletions where account_id = $1`;
  const [row] = await db.query<DeletionRow>(text, [accountId]);
  return row === undefined ? null : toDeletion(row);
}

export async function listOpenDeletions(db: Queryable): Promise<DeletedAccount[]> {
  const text = `select ${COLUMNS} from account_deletions where finished_at is null order by asked_at`;
  return (await db.query<DeletionRow>(text)).map(toDeletion);
}

/** Finished a minute after it began at the earliest: until then something may still have been made. */
export async function finishDeletion(db: Queryable, accountId: string): Promise<boolean> {
  const rows = await db.query(
    `update account_deletions set finished_at = promptd_now()
     where account_id = $1 and asked_at <= promptd_now() - interval '${LAST_REQUESTS}' returning 1`,
    [accountId],
  );
  return rows.length === 1;
}

function toDeletion(row: DeletionRow): DeletedAccount {
  return {
    accountId: row.account_id,
    prompts: row.prompts,
    askedAt: row.asked_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
  };
}
