import type { EndpointEntry } from "@promptd/contract";
import { MANAGE_ENDPOINTS, type AuditEntry, type ManageShapes, type Page } from "@promptd/contract/manage";
import { readPage } from "../../platform/database/pages.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { doInBatches } from "../../platform/periodic-work.ts";

export type AuditRow = Omit<AuditEntry, "at" | "email" | "subjectName">;

export async function insertAudit(db: Queryable, row: AuditRow): Promise<void> {
  await db.query(
    `insert into audit_entries
       (id, actor, person_id, token_id, account_id, action, subject, address, request_id, outcome)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      row.auditId,
      row.actor,
      row.personId,
      row.tokenId,
      row.accountId,
      row.action,
      row.subject,
      row.address,
      row.requestId,
      row.outcome,
    ],
  );
}

/** Endpoints that change nothing and return no file. Commands that read end in "show". */
const READS = Object.entries<EndpointEntry>(MANAGE_ENDPOINTS)
  .filter(([, { method, file }]) => method === "GET" && file === undefined)
  .map(([name]) => name);

/** Compares the words of a page without spaces, as actions are written: `Create key` finds `createKey`. */
const SAYS = `position(replace(lower($6), ' ', '') in replace(lower(e.action), ' ', '')) > 0
  or position(lower($6) in u.email) > 0 or position(lower($6) in lower(u.name)) > 0
  or position(lower($6) in e.address) > 0 or position(lower($6) in e.subject) > 0
  or position(replace(lower($6), ' ', '_') in lower(e.outcome)) > 0
  or e.subject in (select audit_subjects_named($6))`;

/** Everything done in the account or to it by operators, who may name it by its address at a terminal. */
const IS_OF_ACCOUNT = `e.account_id = $3
  or lower(e.subject) collate "C" = $3::text
  or lower(e.subject) collate "C" = (select a.email from accounts a where a.id = $3)`;

export function listAudit(db: Queryable, query: ManageShapes["listAudit"]["query"]): Promise<Page<AuditEntry>> {
  return readPage(db, query, {
    what: "audit log row",
    columns: `e.id as "auditId", e.at, e.actor, e.person_id as "personId", u.email, e.token_id as "tokenId",
      e.account_id as "accountId", e.action, e.subject, audit_subject_name(e.subject, e.account_id) as "subjectName",
      e.address, e.request_id as "requestId", e.outcome`,
    from: "audit_entries e left join auth_users u on u.id = e.person_id",
    where: `($1::text is null or e.action in ($1, $5)) and ($2::uuid is null or e.person_id = $2)
      and ($3::uuid is null or ${IS_OF_ACCOUNT}) and ($4::text is null or (e.outcome = 'SUCCESS') = ($4 = 'success'))
      and ($6::text is null or ${SAYS})
      and ($7::text[] is null or (e.action <> all ($7) and e.action !~ ' show$'))`,
    values: [
      query.action ?? null,
      query.personId ?? null,
      query.accountId ?? null,
      query.outcome ?? null,
      camelCase(query.action ?? ""),
      query.q ?? null,
      query.reads === "without" ? READS : null,
    ],
    id: "e.id",
  });
}

/** Turns `Create key` into `createKey`: a page shows actions as words. */
function camelCase(words: string): string {
  return words.toLowerCase().replaceAll(/ +(.)/g, (_, letter: string) => letter.toUpperCase());
}

const PRUNE_BATCH = 1_000;

/** Removes rows that are older than the log's retention period. */
export async function pruneAudit(db: Queryable, days: number, stop?: AbortSignal): Promise<void> {
  const text = `delete from audit_entries where id in (
      select id from audit_entries where at < promptd_now() - make_interval(days => $1) order by at limit ${PRUNE_BATCH})
    returning 1`;
  await doInBatches(PRUNE_BATCH, async () => (await db.query(text, [days])).length, stop);
}
