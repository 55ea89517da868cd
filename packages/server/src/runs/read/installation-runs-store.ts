/**
 * Runs of all accounts, for operators. No index is ordered by time alone, but ids are, so every list is bounded by ids.
 */
import type {
  CallOfRun,
  InstallationRun,
  InstallationRunRow,
  ListInstallationRunsQuery,
  Page,
} from "@promptd/contract/manage";
import { unixTimeMs } from "@promptd/contract/schemas";
import { queryAnswer, queryAnswers } from "../../platform/database/answers.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { createFilters, readPage } from "../../platform/database/pages.ts";
import { firstIdOfMs, idTimeMs } from "../../platform/ids.ts";
import {
  COLUMNS,
  endOf,
  FROM,
  NAMES,
  receiptOf,
  TOKENS,
  timelineOf,
  withCreation,
  type StoredRun,
} from "./managed-runs-store.ts";
import { REQUEST_SPAN_MS, withBatches } from "./batch-of-runs-store.ts";

type FoundRun = StoredRun & Pick<InstallationRunRow, "accountId" | "accountEmail" | "cause">;

const FOUND = `${COLUMNS}, r.account_id as "accountId", a.email as "accountEmail",
  case when r.status = 'failed' then coalesce(r.fail_reason, 'unknown') end as cause`;
const FOUND_FROM = `${FROM} join accounts a on a.id = r.account_id`;
const SPAN_MS_DEFAULT = 86_400_000;

/** Lists the last day, unless an id or a time says otherwise. */
export async function listInstallationRuns(
  db: Queryable,
  query: ListInstallationRunsQuery,
  nowMs: number,
): Promise<Page<InstallationRunRow>> {
  const { where, values, add } = createFilters([], []);
  const [fromMs, toMs] = spanOf(query, nowMs);
  add((given) => `r.id >= ${given}`, firstIdOfMs(fromMs));
  add((given) => `r.id < ${given}`, toMs === null ? undefined : firstIdOfMs(toMs));
  add((given) => `(r.id = ${given} or r.request_id = ${given})`, query.id);
  add((given) => `r.account_id = ${given}`, query.accountId);
  add((given) => `r.status = ${given}`, query.status);
  add((given) => `r.model = ${given}`, query.model);
  add((given) => `r.status = 'failed' and coalesce(r.fail_reason, 'unknown') = ${given}`, query.cause);
  const page = await readPage<FoundRun>(db, query, {
    what: "run",
    columns: FOUND,
    from: FOUND_FROM,
    where: where.join(" and "),
    values,
    id: "r.id",
  });
  return { ...page, rows: await withBatches(db, page.rows.map(withCreation), accountOf) };
}

function spanOf({ id, since, until }: ListInstallationRunsQuery, nowMs: number): [number, number | null] {
  if (id !== undefined) return [idTimeMs(id), idTimeMs(id) + REQUEST_SPAN_MS];
  const toMs = until === undefined ? null : unixTimeMs(until);
  return [since === undefined ? (toMs ?? nowMs) - SPAN_MS_DEFAULT : unixTimeMs(since), toMs];
}

type FoundDetail = FoundRun &
  Pick<InstallationRun, "version" | "keyName" | "causeDetail" | "runOptions"> & { readonly hold: number | null };

/** Null: no such run. */
export async function findInstallationRun(db: Queryable, runId: string): Promise<InstallationRun | null> {
  const stored = await queryAnswer<FoundDetail>(
    db,
    `select ${FOUND}, ${NAMES}, r.run_options as "runOptions", r.fail_detail as "causeDetail", r.hold
     from ${FOUND_FROM} where r.id = $1`,
    [runId],
  );
  if (stored === null) return null;
  const { hold, ...row } = stored;
  const [run] = await withBatches(db, [withCreation(row)], accountOf);
  if (run === undefined) return null;
  const calls = await queryAnswers<CallOfRun>(
    db,
    `select attempt, step, item, model, provider, sent_at as "sentAt", ended_at as "endedAt", outcome,
       http_status as "httpStatus", provider_code as "providerCode", request_id as "providerRequestId", ${TOKENS}
     from provider_calls where run_id = $1 order by sent_at`,
    [runId],
  );
  return {
    ...run,
    timeline: timelineOf(run, calls),
    receipt: receiptOf(run, hold, calls),
    calls: calls.map((call) => ({ ...call, endedAt: endOf(call, run.finishedAt) })),
  };
}

const accountOf = ({ accountId }: Pick<InstallationRunRow, "accountId">) => accountId;
