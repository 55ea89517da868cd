import type { CreateRunBody, ListRunsQuery, Run, RunEvent, RunList, RunListRow } from "@promptd/contract";
import { PromptdError } from "./errors.ts";
import { createEventLog } from "./run/event-log.ts";
import { isFinal, preferHeader, waitPreference } from "./run/preferences.ts";
import { waitForRun, type WaitParts } from "./run/wait-for-run.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface CreateRunOptions extends CallOptions {
  /**
   * Names this run for 24 hours, so that a repeat finds it instead of making another. A random one when absent;
   * null sends none, and then a lost connection is not retried.
   */
  readonly idempotencyKey?: string | null | undefined;
  /** Shortens the server's wait (about two minutes); 0 asks not to wait at all. */
  readonly waitSeconds?: number | undefined;
  /** The run is answered as it is when the wait is over (at once without `waitSeconds`) instead of a 504. */
  readonly respondAsync?: boolean | undefined;
  /** The run will be followed (`follow`): its text is wanted from the first word. */
  readonly stream?: boolean | undefined;
}

export interface GetRunOptions extends CallOptions {
  /** The server answers when the run is final or after this many seconds. */
  readonly waitSeconds?: number | undefined;
}

interface WatchOptions extends CallOptions {
  /** Called for each state, piece of text and output as it happens. */
  readonly onProgress?: ((event: RunEvent) => void) | undefined;
}

export interface CreateAndWaitOptions extends CallOptions {
  readonly idempotencyKey?: string | undefined;
  /** Length of one poll; below the time after which common proxies give up (60 seconds). 30 when absent. */
  readonly pollSeconds?: number | undefined;
  /** Called once when the run outlives the first wait, so that it can be found again whatever happens next. */
  readonly onUnfinished?: ((runId: string) => void) | undefined;
}

export interface RunsClient {
  /** @throws PromptdError GATEWAY_TIMEOUT_ERROR with `runId` when the run outlives the server's wait. */
  create(body: CreateRunBody, options?: CreateRunOptions): Promise<Run>;
  /** Creates a run once and polls it until it is final, however long that takes; end it with the signal. */
  createAndWait(body: CreateRunBody, options?: CreateAndWaitOptions): Promise<Run>;
  get(runId: string, options?: GetRunOptions): Promise<Run>;
  /**
   * The run's states, its text while it is written, and its end (`done`), as they happen. A lost connection is opened
   * again and goes on behind the last text; end it with the signal, or by leaving the loop.
   */
  follow(runId: string, options?: CallOptions): AsyncGenerator<RunEvent, void>;
  /** Stays with a run until it is final, however long that takes and whatever breaks in between. */
  watch(runId: string, options?: WatchOptions): Promise<Run>;
  list(query?: ListRunsQuery, options?: CallOptions): Promise<RunList>;
  /** All pages, newest first; `limit` is the size of a page (50 when absent). */
  listAll(query?: Omit<ListRunsQuery, "endingBefore">, options?: CallOptions): AsyncGenerator<RunListRow, void>;
  /** Final runs are answered unchanged. */
  cancel(runId: string, options?: CallOptions): Promise<Run>;
}

export interface RunsDependencies extends WaitParts {
  readonly newIdempotencyKey: () => string;
  readonly onWarning: (message: string) => void;
}

/** The server's own wait (specification, "Synchronous wait"): an answer may take that much longer. */
const SERVER_WAIT_MS = 120_000;
const PAGE_LIMIT_DEFAULT = 50;

export function createRunsClient(dependencies: RunsDependencies): RunsClient {
  const { call, timeoutMs } = dependencies;
  const get = async (runId: string, { signal, waitSeconds }: GetRunOptions = {}): Promise<Run> => {
    const headers = preferHeader([waitPreference(waitSeconds)]);
    const given = { params: { runId }, query: {}, body: undefined, headers, signal };
    return (await call("getRun", { ...given, timeoutMs: timeoutMs + (waitSeconds ?? 0) * 1_000 })).data;
  };
  const create = async (body: CreateRunBody, options: CreateRunOptions = {}): Promise<Run> => {
    const key = options.idempotencyKey === undefined ? dependencies.newIdempotencyKey() : options.idempotencyKey;
    const isAsync = options.respondAsync === true ? "respond-async" : null;
    const isStream = options.stream === true ? "stream" : null;
    const answer = await call("createRun", {
      params: {},
      query: {},
      body,
      headers: { ...preferHeader([isAsync, isStream, waitPreference(options.waitSeconds)]), "idempotency-key": key },
      signal: options.signal,
      timeoutMs: timeoutMs + SERVER_WAIT_MS,
    });
    return answer.data;
  };
  const list = async (query: ListRunsQuery = {}, options: CallOptions = {}): Promise<RunList> =>
    (await call("listRuns", { params: {}, query, body: undefined, signal: options.signal })).data;
  return {
    create,
    list,
    follow: dependencies.follow,
    get,
    watch: async (runId, { signal, onProgress } = {}) => {
      const log = createEventLog(onProgress, dependencies.onWarning);
      const run = await waitForRun(dependencies, runId, { log, signal });
      log.finish(run);
      return run;
    },
    createAndWait: async (body, { signal, idempotencyKey, pollSeconds, onUnfinished } = {}) => {
      const created = await create(body, { signal, idempotencyKey }).catch(runOfTimeout);
      if (typeof created !== "string" && isFinal(created)) return created;
      const runId = typeof created === "string" ? created : created.runId;
      onUnfinished?.(runId);
      return waitForRun(dependencies, runId, {
        log: createEventLog(undefined, dependencies.onWarning),
        signal,
        pollSeconds,
      });
    },
    listAll: (query = {}, options = {}) => listAll(list, query, options),
    cancel: async (runId, { signal } = {}) =>
      // A canceled run is canceled again without an effect.
      (await call("cancelRun", { params: { runId }, query: {}, body: undefined, signal, isRepeatable: true })).data,
  };
}

/** A 504 names the run that goes on; creating it again would run and charge twice. */
function runOfTimeout(error: unknown): string {
  const runId = error instanceof PromptdError ? error.runId : null;
  if (runId === null) throw error;
  return runId;
}

async function* listAll(
  list: RunsClient["list"],
  query: Omit<ListRunsQuery, "endingBefore">,
  options: CallOptions,
): AsyncGenerator<RunListRow, void> {
  let startingAfter = query.startingAfter;
  for (;;) {
    const page = await list({ ...query, limit: query.limit ?? PAGE_LIMIT_DEFAULT, startingAfter }, options);
    yield* page.rows;
    startingAfter = page.rows.at(-1)?.runId;
    if (!page.hasMore || startingAfter === undefined) return;
  }
}
