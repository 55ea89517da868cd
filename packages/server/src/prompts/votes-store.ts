/** Votes: one per person and prompt, stored with the person's own account. */
import type { Vote } from "@promptd/contract/manage";
import type { Caller } from "../http/endpoint.ts";
import type { Database, Queryable, Tx } from "../platform/database/database.ts";
import { orNotFound } from "../platform/problem.ts";

/** Finds the account that a person's votes are stored with: the person's own account, or else the chosen one. */
export async function findVotingAccount(db: Queryable, { accountId, actor }: Caller): Promise<string> {
  const text = "select account_id from account_members where person_id = $1 and is_personal";
  const [own] = actor === undefined ? [] : await db.query<{ account_id: string }>(text, [actor.personId]);
  return own?.account_id ?? accountId;
}

export async function findVote(db: Queryable, accountId: string, promptId: string): Promise<Vote> {
  const text = "select 1 from prompt_votes where account_id = $1 and prompt_id = $2";
  return (await db.query(text, [accountId, promptId])).length > 0 ? "up" : "none";
}

/**
 * Adds (`up`) or withdraws an account's vote. Voting twice changes nothing.
 * @returns the prompt's votes.
 * @throws Problem NOT_FOUND_ERROR when no published prompt has this id.
 */
export async function voteForPrompt(db: Database, accountId: string, promptId: string, vote: Vote): Promise<number> {
  return orNotFound(await db.tx((tx) => changeVote(tx, accountId, promptId, vote)), "published prompt", promptId);
}

/** Adds or removes one vote and keeps the sum exact; null when the prompt is not published. */
async function changeVote(tx: Tx, accountId: string, promptId: string, vote: Vote): Promise<number | null> {
  const lock = `select up_votes from prompts
    where id = $1 and unpublished_at is null and latest_version_id is not null for update`;
  const [prompt] = await tx.query<{ up_votes: number }>(lock, [promptId]);
  if (prompt === undefined) return null;
  const change =
    vote === "up"
      ? "insert into prompt_votes (prompt_id, account_id) values ($1, $2) on conflict do nothing returning 1"
      : "delete from prompt_votes where prompt_id = $1 and account_id = $2 returning 1";
  if ((await tx.query(change, [promptId, accountId])).length === 0) return prompt.up_votes;
  const upVotes = prompt.up_votes + (vote === "up" ? 1 : -1);
  await tx.query("update prompts set up_votes = $2 where id = $1", [promptId, upVotes]);
  return upVotes;
}
