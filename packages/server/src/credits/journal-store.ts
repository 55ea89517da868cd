import type { JournalEntry, Page, PageQuery } from "@promptd/contract/manage";
import type { Queryable } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

interface JournalRow {
  id: number;
  at: Date;
  kind: JournalEntry["kind"];
  amount: number;
  credits_after: number;
  run_id: string | null;
  title: string | null;
  actor: string | null;
  expires_at: Date | null;
}

/** Rows of the account's journal, newest first. */
export function listJournal(db: Queryable, accountId: string, query: PageQuery): Promise<Page<JournalEntry>> {
  return readPage(db, query, {
    what: "row of the journal",
    columns: `t.id, t.at, t.kind, t.amount, t.posted_after - t.held_after as credits_after, t.run_id, r.run_name as title,
      t.actor, t.expires_at`,
    from: "credit_transfers t left join runs r on r.account_id = t.account_id and r.id = t.run_id",
    where: "t.account_id = $1",
    values: [accountId],
    id: "t.id",
    toItem: toEntry,
  });
}

function toEntry(row: JournalRow): JournalEntry {
  return {
    entryId: String(row.id),
    at: row.at.toISOString(),
    kind: row.kind,
    amount: row.amount,
    creditsAfter: row.credits_after,
    runId: row.run_id,
    title: row.title,
    reason: row.actor,
    expiresAt: row.expires_at?.toISOString() ?? null,
  };
}
