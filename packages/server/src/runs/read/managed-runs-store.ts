import type { OutputItem, RunStatus } from "@promptd/contract";
import type {
  ListManagedRunsQuery,
  ManagedRun,
  ManagedRunRow,
  NamesOfRun,
  Page,
  RunMoment,
} from "@promptd/contract/manage";
import { unixTimeMs } from "@promptd/contract/schemas";
import { isoTime } from "../../platform/clock.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { readPage } from "../../platform/database/pages.ts";
import { firstIdOfMs, idTimeMs } from "../../platform/ids.ts";
import { visibleOutputs } from "../run-state.ts";
import { findBatchesOfRequests, REQUEST_SPAN_MS, withBatches } from "./batch-of-runs-store.ts";

export interface ListedRow {
  id: string;
  status: RunStatus;
  run_name: string;
  prompt_id: string;
  prompt_version_id: string;
  is_test: boolean;
  slug: string;
  model: string;
  credits: number | null;
  attempt: number;
  started_at: Date | null;
  finished_at: Date | null;
  error: string | null;
  api_key_id: string | null;
  request_id: string | null;
}

export const COLUMNS = `r.id, r.status, r.run_name, v.prompt_id, r.prompt_version_id, v.published_at is null as is_test,
  p.slug, r.model, r.credits, r.attempt,
  r.started_at, r.finished_at, r.api_key_id, r.request_id, case when r.status = 'failed' then (
    select item ->> 'data' from json_array_elements(r.outputs) item where item ->> 'type' = 'error' limit 1) end as error`;
export const FROM = `runs r join prompt_versions v on v.id = r.prompt_version_id join prompts p on p.id = v.prompt_id`;

/** Runs of the account that the filters let through. */
export async function listManagedRuns(
  db: Queryable,
  accountId: string,
  query: ListManagedRunsQuery,
): Promise<Page<ManagedRunRow>> {
  const values: unknown[] = [accountId];
  const where = ["r.account_id = $1"];
  // One condition for each filter that is given: a plan for all of them could use no index.
  const add = (condition: (parameter: string) => string, value: unknown) => {
    if (value !== undefined) where.push(condition(`$${values.push(value)}`));
  };
  add((given) => `r.status = ${given}`, query.status);
  add((given) => `v.prompt_id = ${given}`, query.promptId);
  add((given) => `r.api_key_id = ${given}`, query.keyId);
  add((given) => `r.model = ${given}`, query.model);
  add((given) => `r.id >= ${given}`, query.since === undefined ? undefined : firstIdOfMs(unixTimeMs(query.since)));
  add((given) => `r.id < ${given}`, query.until === undefined ? undefined : firstIdOfMs(unixTimeMs(query.until)));
  if (query.requestId !== undefined) {
    const atMs = idTimeMs(query.requestId);
    add((given) => `r.request_id = ${given}`, query.requestId);
    add((given) => `r.id >= ${given}`, firstIdOfMs(atMs));
    add((given) => `r.id < ${given}`, firstIdOfMs(atMs + REQUEST_SPAN_MS));
  }
  add(
    (given) => `r.status = 'failed' and exists (select 1 from json_array_elements(r.outputs) item
      where item ->> 'type' = 'error' and position(lower(${given}) in lower(item ->> 'data')) > 0)`,
    query.error,
  );
  const page = await readPage(db, query, {
    what: "run",
    columns: COLUMNS,
    from: FROM,
    where: where.join(" and "),
    values,
    id: "r.id",
    toItem: toListed,
  });
  return { ...page, rows: await withBatches(db, page.rows, () => accountId) };
}

/** Whose run it is, by the order of ids: no index begins with them. */
export async function findAccountOfRun(db: Queryable, runId: string): Promise<string | null> {
  const [row] = await db.query<{ account_id: string }>("select account_id from runs where id = $1 limit 1", [runId]);
  return row?.account_id ?? null;
}

/** Columns of one run beside those of a list, with what they need in `FROM`. */
export const NAMES = `v.number as version,
  (select k.name from api_keys k where k.account_id = r.account_id and k.id = r.api_key_id) as key_name`;
export interface NamesRow {
  version: number | null;
  key_name: string | null;
}

export function namesOf({ version, key_name: keyName }: NamesRow): NamesOfRun {
  return { version, keyName };
}

interface DetailRow extends ListedRow, NamesRow {
  is_own: boolean;
  outputs: OutputItem[];
  inputs: { textInputs?: Record<string, string>; images?: readonly unknown[] };
  run_options: Record<string, string>;
  answered_by: string | null;
  hold: number | null;
}

export interface CallRow {
  attempt: number;
  sent_at: Date;
  ended_at: Date | null;
  outcome: string | null;
}

export async function findManagedRun(db: Queryable, accountId: string, runId: string): Promise<ManagedRun | null> {
  const [row] = await db.query<DetailRow>(
    `select ${COLUMNS}, ${NAMES}, p.author_id = r.account_id as is_own, r.outputs, r.inputs, r.run_options, r.answered_by, r.hold
     from ${FROM} where r.account_id = $1 and r.id = $2`,
    [accountId, runId],
  );
  if (row === undefined) return null;
  const calls = await db.query<CallRow>(
    "select attempt, sent_at, ended_at, outcome from provider_calls where run_id = $1 and account_id = $2 order by sent_at",
    [runId, accountId],
  );
  const { textInputs = {}, images = [] } = row.inputs;
  const batches = await findBatchesOfRequests(db, [{ accountId, requestId: row.request_id }]);
  return {
    ...toListed(row),
    ...namesOf(row),
    isOwnPrompt: row.is_own,
    outputs: visibleOutputs(row.status, row.outputs),
    inputs: { textInputs, images: images.length },
    runOptions: row.run_options,
    answeredBy: row.answered_by,
    batch: batches.get(row.request_id ?? "") ?? null,
    timeline: timelineOf(row, calls),
    receipt: receiptOf(row),
  };
}

/** What is held until the end is neither charged nor given back. */
export function receiptOf({
  hold,
  credits,
  finished_at: finishedAt,
}: Pick<DetailRow, "hold" | "credits" | "finished_at">): ManagedRun["receipt"] {
  const charged = credits ?? 0;
  return { held: hold, charged, givenBack: hold === null || finishedAt === null ? 0 : hold - charged };
}

/** Kinds of output: everything else that a call can end with is a failure. */
const OUTPUTS = new Set(["text", "image", "video"]);

/** The end of a call is recorded a moment behind the run, which waits for no record. */
export function endOf({ ended_at: end }: Pick<CallRow, "ended_at">, finishedAt: Date | null): string | null {
  if (end === null) return null;
  return (finishedAt !== null && finishedAt < end ? finishedAt : end).toISOString();
}

/** Says when something was called and whether it went well, never what: steps and their models are the author's. */
export function timelineOf(row: ListedRow, calls: readonly CallRow[]): RunMoment[] {
  const moments: RunMoment[] = [moment("created", new Date(idTimeMs(row.id)), 0)];
  if (row.started_at !== null) moments.push(moment("started", row.started_at, row.attempt));
  for (const call of calls) {
    const outcome = call.outcome === null ? null : OUTPUTS.has(call.outcome) ? "succeeded" : "failed";
    const endedAt = endOf(call, row.finished_at);
    moments.push({ ...moment("call", call.sent_at, call.attempt), endedAt, outcome });
  }
  if (row.finished_at !== null) {
    moments.push({ ...moment("finished", row.finished_at, row.attempt), outcome: row.status });
  }
  return moments;
}

function moment(event: RunMoment["event"], at: Date, attempt: number): RunMoment {
  return { at: at.toISOString(), event, attempt, endedAt: null, outcome: null };
}

/** A row before the batch that it belongs to was looked up. */
export function toListed(row: ListedRow): Omit<ManagedRunRow, "batch"> {
  return {
    runId: row.id,
    runStatus: row.status,
    title: row.run_name,
    promptId: row.prompt_id,
    promptVersionId: row.prompt_version_id,
    isTest: row.is_test,
    slug: row.slug,
    model: row.model,
    credits: row.credits,
    attempts: row.attempt,
    createdAt: isoTime(idTimeMs(row.id)),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    error: row.error,
    keyId: row.api_key_id,
    requestId: row.request_id,
  };
}
