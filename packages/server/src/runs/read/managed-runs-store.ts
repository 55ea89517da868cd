import type {
  CallOfRun,
  ListManagedRunsQuery,
  ManagedRun,
  ManagedRunRow,
  Page,
  RunMoment,
} from "@promptd/contract/manage";
import { unixTimeMs } from "@promptd/contract/schemas";
import { isoTime } from "../../platform/clock.ts";
import { queryAnswer, queryAnswers } from "../../platform/database/answers.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { createFilters, readPage } from "../../platform/database/pages.ts";
import { firstIdOfMs, idTimeMs } from "../../platform/ids.ts";
import { visibleOutputs } from "../run-state.ts";
import { findBatchesOfRequests, REQUEST_SPAN_MS, withBatches } from "./batch-of-runs-store.ts";

/** A row before its batch has been looked up. */
export type ListedRun = Omit<ManagedRunRow, "batch">;
/** A row as read from the database: its creation time is contained in its id. */
export type StoredRun = Omit<ListedRun, "createdAt">;

export const COLUMNS = `r.id as "runId", r.status as "runStatus", r.run_name as title, v.prompt_id as "promptId",
  r.prompt_version_id as "promptVersionId", v.published_at is null as "isTest", p.slug, r.model, r.credits,
  r.attempt as attempts, r.started_at as "startedAt", r.finished_at as "finishedAt", r.api_key_id as "keyId",
  r.request_id as "requestId", case when r.status = 'failed' then (
    select item ->> 'data' from json_array_elements(r.outputs) item where item ->> 'type' = 'error' limit 1) end as error`;
export const FROM = `runs r join prompt_versions v on v.id = r.prompt_version_id join prompts p on p.id = v.prompt_id`;

/** Runs of the account that match the filters. */
export async function listManagedRuns(
  db: Queryable,
  accountId: string,
  query: ListManagedRunsQuery,
): Promise<Page<ManagedRunRow>> {
  const { where, values, add } = createFilters(["r.account_id = $1"], [accountId]);
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
  const page = await readPage<StoredRun>(db, query, {
    what: "run",
    columns: COLUMNS,
    from: FROM,
    where: where.join(" and "),
    values,
    id: "r.id",
  });
  return { ...page, rows: await withBatches(db, page.rows.map(withCreation), () => accountId) };
}

/** Columns for a single run in addition to those of a list, with what they need in `FROM`. */
export const NAMES = `v.number as version,
  (select k.name from api_keys k where k.account_id = r.account_id and k.id = r.api_key_id) as "keyName"`;

type StoredDetail = StoredRun &
  Pick<ManagedRun, "version" | "keyName" | "isOwnPrompt" | "outputs" | "runOptions" | "answeredBy"> & {
    readonly inputs: { readonly textInputs?: Record<string, string>; readonly images?: readonly unknown[] };
    readonly hold: number | null;
  };

export async function findManagedRun(db: Queryable, accountId: string, runId: string): Promise<ManagedRun | null> {
  const stored = await queryAnswer<StoredDetail>(
    db,
    `select ${COLUMNS}, ${NAMES}, p.author_id = r.account_id as "isOwnPrompt", r.outputs, r.inputs,
       r.run_options as "runOptions", r.answered_by as "answeredBy", r.hold
     from ${FROM} where r.account_id = $1 and r.id = $2`,
    [accountId, runId],
  );
  if (stored === null) return null;
  const calls = await queryAnswers<CallTimes & CallTokens>(
    db,
    `select attempt, sent_at as "sentAt", ended_at as "endedAt", outcome, ${TOKENS} from provider_calls
     where run_id = $1 and account_id = $2 order by sent_at`,
    [runId, accountId],
  );
  const { hold, inputs, ...row } = stored;
  const run = withCreation(row);
  const { textInputs = {}, images = [] } = inputs;
  const batches = await findBatchesOfRequests(db, [{ accountId, requestId: run.requestId }]);
  return {
    ...run,
    outputs: visibleOutputs(run.runStatus, run.outputs),
    inputs: { textInputs, images: images.length },
    batch: batches.get(run.requestId ?? "") ?? null,
    timeline: timelineOf(run, calls),
    receipt: receiptOf(run, hold, calls),
  };
}

type CallTokens = Pick<CallOfRun, "inputTokens" | "outputTokens">;
/** Columns of a call. */
export const TOKENS = `(usage ->> 'inputTokens')::bigint as "inputTokens", (usage ->> 'outputTokens')::bigint as "outputTokens"`;

/** Credits held until the end are neither charged nor returned. */
export function receiptOf(
  { credits, finishedAt }: Pick<ListedRun, "credits" | "finishedAt">,
  hold: number | null,
  calls: readonly CallTokens[],
): ManagedRun["receipt"] {
  const charged = credits ?? 0;
  const givenBack = hold === null || finishedAt === null ? 0 : hold - charged;
  const sumOf = (name: keyof CallTokens) =>
    calls.reduce<number | null>((sum, { [name]: tokens }) => (tokens === null ? sum : (sum ?? 0) + tokens), null);
  return { held: hold, charged, givenBack, inputTokens: sumOf("inputTokens"), outputTokens: sumOf("outputTokens") };
}

/** Kinds of output: anything else that a call can end with is a failure. */
const OUTPUTS = new Set(["text", "image", "video"]);

type CallTimes = Pick<CallOfRun, "attempt" | "sentAt" | "endedAt" | "outcome">;

/** The end of a call is recorded a moment after the end of its run, which does not wait for it. */
export function endOf({ endedAt }: Pick<CallTimes, "endedAt">, finishedAt: string | null): string | null {
  return endedAt !== null && finishedAt !== null && finishedAt < endedAt ? finishedAt : endedAt;
}

/** Shows when something was called and whether it succeeded, never what: steps and their models are the author's. */
export function timelineOf(run: ListedRun, calls: readonly CallTimes[]): RunMoment[] {
  const { attempts, startedAt, finishedAt } = run;
  const moments: RunMoment[] = [moment("created", run.createdAt, 0)];
  if (startedAt !== null) moments.push(moment("started", startedAt, 1)); // later attempts show through their calls
  for (const call of calls) {
    const outcome = call.outcome === null ? null : OUTPUTS.has(call.outcome) ? "succeeded" : "failed";
    moments.push({ ...moment("call", call.sentAt, call.attempt), endedAt: endOf(call, finishedAt), outcome });
  }
  if (finishedAt !== null) moments.push({ ...moment("finished", finishedAt, attempts), outcome: run.runStatus });
  return moments;
}

function moment(event: RunMoment["event"], at: string, attempt: number): RunMoment {
  return { at, event, attempt, endedAt: null, outcome: null };
}

/** A run's creation time is contained in its id. */
export function withCreation<Row extends Pick<ListedRun, "runId">>(row: Row): Row & Pick<ListedRun, "createdAt"> {
  return { ...row, createdAt: isoTime(idTimeMs(row.runId)) };
}
