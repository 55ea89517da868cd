import type { CreateRunBody, Run } from "@promptd/contract";
import type { Files } from "../files/index.ts";
import type { Answer, Endpoints, RequestContext } from "../http/endpoint.ts";
import type { Catalogue } from "../models/index.ts";
import type { Database } from "../platform/database.ts";
import { fault } from "../platform/fault.ts";
import { notFound, Problem } from "../platform/problem.ts";
import { createRun, getRun } from "./create-run.ts";
import { findRunOfKey, readIdempotency } from "./idempotency.ts";
import { listRuns } from "./list-runs.ts";
import { describeApplied, readPreferences } from "./preferences.ts";
import { isFinal } from "./run-state.ts";
import { cancelRunRow } from "./runs-store.ts";
import type { Wait, WaitingHub } from "./wait-for-run.ts";

export interface RunsRoutesOptions {
  readonly db: Database;
  readonly catalogue: Catalogue;
  readonly files: Files;
  readonly hub: WaitingHub;
  readonly newId: () => string;
  readonly publicUrl: () => string;
  readonly syncWaitMs: number;
  readonly activeRunsMax: number;
  readonly holdMaxCredits: number;
  /** A run was created and committed: tell the workers. */
  readonly onCreated: (runId: string) => void;
  /** A run was canceled while a worker had it: tell that worker, and everybody who waits. */
  readonly onCanceled: (runId: string) => void;
}

type RunsEndpoints = Pick<Endpoints, "createRun" | "getRun" | "listRuns" | "cancelRun">;

const POLL_AFTER_TIMEOUT_SECONDS = "5";
const POLL_SECONDS = "2";

export function runsRoutes(options: RunsRoutesOptions): RunsEndpoints {
  return {
    createRun: ({ body }, context) => create(body, context, options),
    getRun: ({ params }, context) => retrieve(params.runId.toLowerCase(), context, options),
    listRuns: async ({ query }, { caller }) => ({ data: await listRuns(options.db, caller.accountId, query) }),
    cancelRun: ({ params }, context) => cancel(params.runId.toLowerCase(), context, options),
  };
}

/** In two parts, so that the body, which may be 32 MiB, is not kept while the request waits. */
function create(body: CreateRunBody, context: RequestContext, options: RunsRoutesOptions): Promise<Answer<Run>> {
  return startRun(body, context, options).then((started) => answerStarted(started, context, options));
}

interface Started extends Awaited {
  /** Null: the run existed before. */
  readonly wait: Wait | null;
}

async function startRun(body: CreateRunBody, context: RequestContext, options: RunsRoutesOptions): Promise<Started> {
  const { accountId } = context.caller;
  const idempotency = readIdempotency(context, body);
  const earlier = idempotency === null ? null : await findRunOfKey(options.db, accountId, idempotency);
  if (earlier !== null) return { runId: earlier, isReplay: true, wait: null };
  const runId = options.newId();
  const wait = beginWait(runId, context, options); // before the insert, so that no end can be missed
  try {
    const ignore = (name: string) => context.ignore(name);
    const created = await createRun({ accountId, runId, body, idempotency, ignore }, options);
    await fault("create.after_commit");
    if (created.isReplay) wait.leave();
    else options.onCreated(runId);
    return { ...created, wait: created.isReplay ? null : wait };
  } catch (error) {
    wait.leave();
    throw error;
  }
}

async function answerStarted(run: Started, context: RequestContext, options: RunsRoutesOptions): Promise<Answer<Run>> {
  if (run.wait === null) return answerWhenFinal(run, context, options);
  await fault("wait.registered");
  try {
    const answer = await answerAfter(run.wait, run, context, options);
    await fault("create.before_reply");
    return answer;
  } finally {
    run.wait.leave();
  }
}

interface Awaited {
  readonly runId: string;
  readonly isReplay: boolean;
}

/** A run that exists already: it may be final, or end while we look. */
async function answerWhenFinal(
  run: Awaited,
  context: RequestContext,
  options: RunsRoutesOptions,
): Promise<Answer<Run>> {
  const wait = beginWait(run.runId, context, options);
  options.hub.wake([run.runId]);
  try {
    return await answerAfter(wait, run, context, options);
  } finally {
    wait.leave();
  }
}

function beginWait(runId: string, context: RequestContext, options: RunsRoutesOptions): Wait {
  return options.hub.wait({
    accountId: context.caller.accountId,
    runId,
    untilMs: context.arrivedAtMs + windowMs(context, options),
    signal: context.signal,
  });
}

/** How long this request waits, in milliseconds from the arrival of its headers. */
function windowMs(context: RequestContext, options: RunsRoutesOptions): number {
  const preferences = readPreferences(context.header("prefer"));
  if (preferences.waitSeconds !== null) return Math.min(preferences.waitSeconds * 1_000, options.syncWaitMs);
  return preferences.respondAsync ? 0 : options.syncWaitMs;
}

async function answerAfter(
  wait: Wait,
  run: Awaited,
  context: RequestContext,
  options: RunsRoutesOptions,
): Promise<Answer<Run>> {
  const finished = await wait.finished;
  await fault("wait.before_reply");
  const current = finished ?? (await getRun(options.db, context.caller.accountId, run.runId));
  const preferences = readPreferences(context.header("prefer"));
  const applied = describeApplied(preferences, { respondAsync: true });
  const headers = {
    ...(run.isReplay ? { "idempotent-replayed": "true" } : {}),
    ...(applied === null ? {} : { "preference-applied": applied }),
  };
  if (isFinal(current.runStatus)) return { data: current, headers };
  const location = `${options.publicUrl()}/v1/runs/${run.runId}`;
  if (preferences.respondAsync) {
    return { status: 202, data: current, headers: { ...headers, location, "retry-after": POLL_SECONDS } };
  }
  throw stillRunning(run.runId, Math.round((performance.now() - context.arrivedAtMs) / 1_000), {
    ...headers,
    location,
  });
}

function stillRunning(runId: string, seconds: number, headers: Readonly<Record<string, string>>): Problem {
  return new Problem(
    "GATEWAY_TIMEOUT_ERROR",
    `The run is still in progress after ${seconds} ${seconds === 1 ? "second" : "seconds"}. Do not create it again; get its result with GET /v1/runs/${runId}.`,
    { data: { runId }, headers: { ...headers, "retry-after": POLL_AFTER_TIMEOUT_SECONDS } },
  );
}

/** With `Prefer: wait=N` the answer comes when the run is final, or after N seconds with the current view. */
async function retrieve(runId: string, context: RequestContext, options: RunsRoutesOptions): Promise<Answer<Run>> {
  const { accountId } = context.caller;
  const preferences = readPreferences(context.header("prefer"));
  const applied = describeApplied(preferences, { respondAsync: false });
  const headers = applied === null ? {} : { "preference-applied": applied };
  const first = await getRun(options.db, accountId, runId);
  if (isFinal(first.runStatus)) return { data: first, headers };
  if (preferences.waitSeconds === null) return { data: first, headers: { "retry-after": POLL_SECONDS } };
  const wait = beginWait(runId, context, options);
  options.hub.wake([runId]); // it may have ended between the look above and the registration
  const finished = await wait.finished;
  const run = finished ?? (await getRun(options.db, accountId, runId));
  return { data: run, headers: isFinal(run.runStatus) ? headers : { ...headers, "retry-after": POLL_SECONDS } };
}

async function cancel(runId: string, context: RequestContext, options: RunsRoutesOptions): Promise<Answer<Run>> {
  const { accountId } = context.caller;
  const outcome = await cancelRunRow(options.db, accountId, runId);
  if (outcome === "not_found") throw notFound("run", runId);
  if (outcome !== "finished") options.onCanceled(runId);
  return { data: await getRun(options.db, accountId, runId) };
}
