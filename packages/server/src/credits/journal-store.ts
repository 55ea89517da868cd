import type { JournalEntry, Page, PageQuery } from "@promptd/contract/manage";
import type { Queryable } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

/** Lists the account's journal, newest row first. */
export function listJournal(db: Queryable, accountId: string, query: PageQuery): Promise<Page<JournalEntry>> {
  return readPage(db, query, {
    what: "row of the journal",
    columns: `t.id::text as "entryId", t.at, t.kind, t.amount, t.posted_after - t.held_after as "creditsAfter",
      t.run_id as "runId", r.run_name as title, t.actor as reason, t.expires_at as "expiresAt"`,
    from: "credit_transfers t left join runs r on r.account_id = t.account_id and r.id = t.run_id",
    where: "t.account_id = $1",
    values: [accountId],
    id: "t.id",
  });
}
