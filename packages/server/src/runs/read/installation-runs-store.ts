/** Runs of all accounts, for operators. No index is ordered by time alone, so every list is bounded by ids, which are. */
import type {
  CallOfRun,
  InstallationRun,
  InstallationRunRow,
  ListInstallationRunsQuery,
  Page,
} from "@promptd/contract/manage";
import { unixTimeMs } from "@promptd/contract/schemas";
import type { Queryable } from "../../platform/database/database.ts";
import { readPage } from "../../platform/database/pages.ts";
import { firstIdOfMs, idTimeMs } from "../../platform/ids.ts";
import {
  COLUMNS,
  endOf,
  FROM,
  NAMES,
  namesOf,
  receiptOf,
  timelineOf,
  toListed,
  type ListedRow,
  type NamesRow,
} from "./managed-runs-store.ts";
import { REQUEST_SPAN_MS, withBatches } from "./batch-of-runs-store.ts";

interface FoundRow extends ListedRow {
  account_id: string;
  account_email: string;
  cause: string | null;
}

const FOUND = `${COLUMNS}, r.account_id, a.email as account_email,
  case when r.status = 'failed' then coalesce(r.fail_reason, 'unknown') end as cause`;
const FOUND_FROM = `${FROM} join accounts a on a.id = r.account_id`;
const SPAN_MS_DEFAULT = 86_400_000;

/** Of the last day, unless an id or a time says otherwise. */
export async function listInstallationRuns(
  db: Queryable,
  query: ListInstallationRunsQuery,
  nowMs: number,
): Promise<Page<InstallationRunRow>> {
  const values: unknown[] = [];
  const where: string[] = [];
  const add = (condition: (parameter: string) => string, value: unknown) => {
    if (value !== undefined) where.push(condition(`$${values.push(value)}`));
  };
  const [fromMs, toMs] = spanOf(query, nowMs);
  add((given) => `r.id >= ${given}`, firstIdOfMs(fromMs));
  add((given) => `r.id < ${given}`, toMs === null ? undefined : firstIdOfMs(toMs));
  add((given) => `(r.id = ${given} or r.request_id = ${given})`, query.id);
  add((given) => `r.account_id = ${given}`, query.accountId);
  add((given) => `r.status = ${given}`, query.status);
  add((given) => `r.model = ${given}`, query.model);
  add((given) => `r.status = 'failed' and coalesce(r.fail_reason, 'unknown') = ${given}`, query.cause);
  const page = await readPage(db, query, {
    what: "run",
    columns: FOUND,
    from: FOUND_FROM,
    where: where.join(" and "),
    values,
    id: "r.id",
    toItem: toFound,
  });
  return { ...page, rows: await withBatches(db, page.rows, accountOf) };
}

function spanOf({ id, since, until }: ListInstallationRunsQuery, nowMs: number): [number, number | null] {
  if (id !== undefined) return [idTimeMs(id), idTimeMs(id) + REQUEST_SPAN_MS];
  const toMs = until === undefined ? null : unixTimeMs(until);
  return [since === undefined ? (toMs ?? nowMs) - SPAN_MS_DEFAULT : unixTimeMs(since), toMs];
}

interface DetailRow extends FoundRow, NamesRow {
  run_options: Record<string, string>;
  fail_detail: string | null;
  hold: number | null;
}

interface CallRow {
  attempt: number;
  step: number;
  item: number;
  model: string;
  provider: string;
  sent_at: Date;
  ended_at: Date | null;
  outcome: string | null;
  http_status: number | null;
  provider_code: string | null;
  request_id: string | null;
}

/** Null: there is no such run. */
export async function findInstallationRun(db: Queryable, runId: string): Promise<InstallationRun | null> {
  const [row] = await db.query<DetailRow>(
    `select ${FOUND}, ${NAMES}, r.run_options, r.fail_detail, r.hold from ${FOUND_FROM} where r.id = $1`,
    [runId],
  );
  if (row === undefined) return null;
  const [found] = await withBatches(db, [toFound(row)], accountOf);
  if (found === undefined) return null;
  const calls = await db.query<CallRow>(
    `select attempt, step, item, model, provider, sent_at, ended_at, outcome, http_status, provider_code, request_id
     from provider_calls where run_id = $1 order by sent_at`,
    [runId],
  );
  return {
    ...found,
    ...namesOf(row),
    causeDetail: row.fail_detail,
    runOptions: row.run_options,
    timeline: timelineOf(row, calls),
    receipt: receiptOf(row),
    calls: calls.map((call) => toCall(call, row.finished_at)),
  };
}

const accountOf = ({ accountId }: Pick<InstallationRunRow, "accountId">) => accountId;

function toFound(row: FoundRow): Omit<InstallationRunRow, "batch"> {
  return { ...toListed(row), accountId: row.account_id, accountEmail: row.account_email, cause: row.cause };
}

function toCall(row: CallRow, finishedAt: Date | null): CallOfRun {
  return {
    attempt: row.attempt,
    step: row.step,
    item: row.item,
    model: row.model,
    provider: row.provider,
    sentAt: row.sent_at.toISOString(),
    endedAt: endOf(row, finishedAt),
    outcome: row.outcome,
    httpStatus: row.http_status,
    providerCode: row.provider_code,
    providerRequestId: row.request_id,
  };
}
