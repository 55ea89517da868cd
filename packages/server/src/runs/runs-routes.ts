import { countOf, type CreateRunBody, type Run } from "@promptd/contract";
import { Readable } from "node:stream";
import type { Answer, Handlers, RequestContext, StreamAnswer } from "../http/endpoint.ts";
import { isOutage } from "../platform/database/errors.ts";
import { faultPoint } from "../platform/fault-injection.ts";
import { notFound, Problem } from "../platform/problem.ts";
import { settleWithin } from "../platform/resilience/deadline.ts";
import { cancelRun, type CancelOptions } from "./cancel-run.ts";
import { createRun, type CreateRunOptions } from "./create/create-run.ts";
import { readIdempotency } from "./create/idempotency.ts";
import { listRuns } from "./read/list-runs.ts";
import { describeApplied, readPreferences } from "./wait/prefer-header.ts";
import { isFinal } from "./run-state.ts";
import { runEvents } from "./wait/run-events.ts";
import type { RunFollowers } from "./wait/run-followers.ts";
import { getRun } from "./runs-store.ts";
import type { Wait, WaitingHub } from "./wait/wait-for-run.ts";

export interface RunsRoutesOptions extends CreateRunOptions, CancelOptions {
  readonly hub: WaitingHub;
  readonly followers: RunFollowers;
  readonly newId: () => string;
  /** Base URL under which this API's runs are reached, such as `https://example.org/v1`. */
  readonly baseUrl: () => string;
  readonly syncWaitMs: number;
  /** A run was created and committed, and is waiting: wake the workers. */
  readonly onCreated: (runId: string) => void;
}

/** No proxy may buffer or store live events. */
const EVENT_STREAM = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};
const POLL_AFTER_TIMEOUT_SECONDS = "5";
const POLL_SECONDS = "2";
/** Together with the hub's last poll, a caller still gets a response within a second after its wait ends. */
const REPLAY_VIEW_MS_MAX = 500;

export function runsRoutes(options: RunsRoutesOptions) {
  return {
    createRun: ({ body }, context) => createRunOf(body, context, options),
    getRun: ({ params }, context) => retrieve(params.runId.toLowerCase(), context, options),
    listRuns: async ({ query }, { caller }) => ({ data: await listRuns(options.db, caller.accountId, query) }),
    followRun: ({ params }, context) => follow(params.runId.toLowerCase(), context, options),
    cancelRun: ({ params }, context) => cancel(params.runId.toLowerCase(), context, options),
  } satisfies Partial<Handlers>;
}

/** A run, and this request's wait for it. */
interface Awaited {
  readonly runId: string;
  readonly wait: Wait;
}

interface Started extends Awaited {
  /** True: the run existed before this request. */
  readonly isReplay: boolean;
}

/** Split into two parts, so that the body, which may be 32 MiB, is not retained while the request waits. */
export function createRunOf(
  body: CreateRunBody,
  context: RequestContext,
  options: RunsRoutesOptions,
): Promise<Answer<Run>> {
  return startRun(body, context, options).then((started) => {
    context.releaseBody();
    return answerCreate(started, context, options);
  });
}

async function startRun(body: CreateRunBody, context: RequestContext, options: RunsRoutesOptions): Promise<Started> {
  const { accountId, keyId } = context.caller;
  const idempotency = readIdempotency(context, body);
  const runId = options.newId();
  const wait = beginWait(runId, context, options); // before the insert, so that no end can be missed
  try {
    const { requestId } = context;
    const ignore = (name: string) => context.ignore(name);
    const request = { accountId, keyId, requestId, runId, body, idempotency, ignore };
    const { stream: isFollowed } = readPreferences(context.header("prefer"));
    const created = await createRun({ ...request, isFollowed }, options);
    context.nameRun(created.runId);
    await faultPoint("create.after_commit");
    if (!created.isReplay) {
      if (!created.isClaimed) options.onCreated(runId);
      return { runId, wait, isReplay: false };
    }
    wait.cancel();
    return { ...joinRun(created.runId, context, options), isReplay: true };
  } catch (error) {
    wait.cancel();
    throw error;
  }
}

async function answerCreate(
  started: Started,
  context: RequestContext,
  options: RunsRoutesOptions,
): Promise<Answer<Run>> {
  const finished = await awaitEnd(started.wait);
  await faultPoint("create.before_reply");
  const preferences = readPreferences(context.header("prefer"));
  const applied = describeApplied(preferences, { creates: true });
  const { runId, isReplay } = started;
  const headers = {
    ...(isReplay ? { "idempotent-replayed": "true" } : {}),
    ...(applied === null ? {} : { "preference-applied": applied }),
  };
  const location = `${options.baseUrl()}/runs/${runId}`;
  const run = finished ?? (await viewUnfinished(started, preferences.respondAsync, context, options));
  if (run !== null && isFinal(run.runStatus)) return { data: run, headers };
  if (run !== null && preferences.respondAsync)
    return { status: 202, data: run, headers: { ...headers, location, "retry-after": POLL_SECONDS } };
  const seconds = Math.round((performance.now() - context.arrivedAtMs) / 1_000);
  throw stillRunning(runId, seconds, { ...headers, location });
}

/**
 * The current view of a run, for a caller who needs more than its id: a 202 shows the run, and an earlier request's run
 * may have ended long ago even though the last poll missed it. Null if a 504 must do: for a new run, during shutdown
 * (ten thousand lookups at once took 12 s and half of them failed, busy machine, 2026-11-21), and without the database.
 */
async function viewUnfinished(
  { runId, isReplay }: Started,
  respondAsync: boolean,
  { caller }: RequestContext,
  { db, hub }: RunsRoutesOptions,
): Promise<Run | null> {
  if (!respondAsync && (!isReplay || hub.isDraining)) return null;
  try {
    const view = getRun(db, caller.accountId, runId);
    const isInTime = respondAsync || (await settleWithin([view], REPLAY_VIEW_MS_MAX));
    return isInTime ? await view : null;
  } catch (error) {
    if (isOutage(error)) return null;
    throw error;
  }
}

/** The run once it is final; null if the wait timed out, the caller disconnected, or the process is stopping. */
async function awaitEnd(wait: Wait): Promise<Run | null> {
  try {
    await faultPoint("wait.registered");
    const finished = await wait.finished;
    await faultPoint("wait.before_reply");
    return finished;
  } finally {
    wait.cancel();
  }
}

/** A run that already exists may have ended before this registration, so the hub polls at once. */
function joinRun(runId: string, context: RequestContext, options: RunsRoutesOptions): Awaited {
  const wait = beginWait(runId, context, options);
  options.hub.wake([runId]);
  return { runId, wait };
}

function beginWait(runId: string, context: RequestContext, options: RunsRoutesOptions): Wait {
  const wait = options.hub.wait({
    accountId: context.caller.accountId,
    runId,
    untilMs: context.arrivedAtMs + windowMs(context, options),
  });
  context.onGone(() => wait.cancel());
  return wait;
}

/** How long this request waits, in milliseconds after its headers arrived. */
function windowMs(context: RequestContext, options: RunsRoutesOptions): number {
  const preferences = readPreferences(context.header("prefer"));
  if (preferences.waitSeconds !== null) return Math.min(preferences.waitSeconds * 1_000, options.syncWaitMs);
  return preferences.respondAsync ? 0 : options.syncWaitMs;
}

function stillRunning(runId: string, seconds: number, headers: Readonly<Record<string, string>>): Problem {
  return new Problem(
    "GATEWAY_TIMEOUT_ERROR",
    `The run is still in progress after ${countOf(seconds, "second")}. Do not create it again; get its result with GET /v1/runs/${runId}.`,
    { data: { runId }, headers: { ...headers, "retry-after": POLL_AFTER_TIMEOUT_SECONDS } },
  );
}

/** With `Prefer: wait=N`, responds when the run is final, or after N seconds with the current view. */
async function retrieve(runId: string, context: RequestContext, options: RunsRoutesOptions): Promise<Answer<Run>> {
  const preferences = readPreferences(context.header("prefer"));
  const applied = describeApplied(preferences, { creates: false });
  let run = await getRun(options.db, context.caller.accountId, runId);
  if (!isFinal(run.runStatus) && preferences.waitSeconds !== null)
    run =
      (await awaitEnd(joinRun(runId, context, options).wait)) ??
      (await getRun(options.db, context.caller.accountId, runId));
  const headers = {
    ...(applied === null ? {} : { "preference-applied": applied }),
    ...(isFinal(run.runStatus) ? {} : { "retry-after": POLL_SECONDS }),
  };
  return { data: run, headers };
}

/** The run as server-sent events, from its current state to its end. */
async function follow(runId: string, context: RequestContext, options: RunsRoutesOptions): Promise<StreamAnswer> {
  const { accountId } = context.caller;
  const run = await getRun(options.db, accountId, runId);
  const lastId = context.header("last-event-id");
  const follower = options.followers.follow({ accountId, runId }, { status: run.runStatus, after: lastId ?? "0" });
  const wait = options.hub.wait({ accountId, runId, untilMs: Infinity });
  options.hub.wake([runId]); // it may have ended since it was read
  const close = () => {
    wait.cancel();
    follower.close();
  };
  context.onGone(close);
  const body = Readable.from(runEvents(run, wait, follower), { objectMode: false });
  body.once("close", close);
  return { status: 200, headers: EVENT_STREAM, body };
}

async function cancel(runId: string, context: RequestContext, options: RunsRoutesOptions): Promise<Answer<Run>> {
  const { accountId } = context.caller;
  if ((await cancelRun(accountId, runId, options)) === "not_found") throw notFound("run", runId);
  return { data: await getRun(options.db, accountId, runId) };
}
