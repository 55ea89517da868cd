import type { JournalEntry, Page } from "@promptd/contract/manage";
import type { Queryable } from "../platform/database/database.ts";
import { readPage, type PageOf } from "../platform/database/pages.ts";

interface JournalRow {
  id: number;
  at: Date;
  kind: JournalEntry["kind"];
  amount: number;
  credits_after: number;
  run_id: string | null;
  actor: string | null;
  expires_at: Date | null;
}

/** Rows of the account's journal, newest first. Null: the cursor is none of them. */
export function listJournal(db: Queryable, accountId: string, query: PageOf): Promise<Page<JournalEntry> | null> {
  return readPage(db, query, {
    columns: "id, at, kind, amount, posted_after - held_after as credits_after, run_id, actor, expires_at",
    from: "credit_transfers",
    where: "account_id = $1",
    values: [accountId],
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
    reason: row.actor,
    expiresAt: row.expires_at?.toISOString() ?? null,
  };
}
