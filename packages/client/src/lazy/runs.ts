import type { CreateRunBody, ListRunsQuery, Page, Run, RunEvent, RunListRow } from "@promptd/contract";
import type { WholeContext } from "../client-context.ts";
import { PromptdError } from "../errors.ts";
import { readPages } from "./pages.ts";
import { followRun } from "../follow-run.ts";
import { createEventLog } from "../run/event-log.ts";
import { isFinal, waitForRun } from "../run/wait-for-run.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface CreateRunOptions extends CallOptions {
  /**
   * Identifies this run for 24 hours, so that a repeat finds it instead of creating another one. Default: a random key.
   * Null sends no key, and a lost connection is not retried then.
   */
  readonly idempotencyKey?: string | null | undefined;
  /** Shortens the server's wait (about two minutes); 0: no wait. */
  readonly waitSeconds?: number | undefined;
  /** Returns the unfinished run after the wait (immediately without `waitSeconds`) instead of a 504. */
  readonly respondAsync?: boolean | undefined;
  /** The run will be followed (`follow`), from the first word of its text. */
  readonly stream?: boolean | undefined;
}

export interface GetRunOptions extends CallOptions {
  /** The server responds when the run is final or after this many seconds. */
  readonly waitSeconds?: number | undefined;
}

interface WatchOptions extends CallOptions {
  /** Called for each state, piece of text, and output as it arrives. */
  readonly onProgress?: ((event: RunEvent) => void) | undefined;
}

export interface CreateAndWaitOptions extends CallOptions {
  readonly idempotencyKey?: string | undefined;
  /** Length of one poll; must be below the timeout of common proxies (60 seconds). Default: 30. */
  readonly pollSeconds?: number | undefined;
  /** Called once if the run is not final after the first wait, so that its id is known in any case. */
  readonly onUnfinished?: ((runId: string) => void) | undefined;
}

/** Options of waiting for a run, with its own poll interval. */
interface WaitOptions extends WatchOptions, Pick<CreateAndWaitOptions, "pollSeconds"> {}

export interface RunsClient {
  /** @throws PromptdError GATEWAY_TIMEOUT_ERROR with `runId` if the run is not final after the server's wait. */
  create(body: CreateRunBody, options?: CreateRunOptions): Promise<Run>;
  /** Creates a run once and polls it until it is final, however long that takes; stop it with the signal. */
  createAndWait(body: CreateRunBody, options?: CreateAndWaitOptions): Promise<Run>;
  get(runId: string, options?: GetRunOptions): Promise<Run>;
  /**
   * The run's states, its text while the model writes it, and its end (`done`), as they happen. Reopens a lost
   * connection and continues after the last text; stop it with the signal, or by leaving the loop.
   */
  follow(runId: string, options?: CallOptions): AsyncGenerator<RunEvent, void>;
  /** Waits until a run is final, however long that takes, even if requests fail in between. */
  watch(runId: string, options?: WatchOptions): Promise<Run>;
  list(query?: ListRunsQuery, options?: CallOptions): Promise<Page<RunListRow>>;
  /** All pages, newest first; `limit` is the page size. Default: 50. */
  listAll(query?: Omit<ListRunsQuery, "endingBefore">, options?: CallOptions): AsyncGenerator<RunListRow, void>;
  /** Returns final runs unchanged. */
  cancel(runId: string, options?: CallOptions): Promise<Run>;
}

/** The server's own wait (specification, "Synchronous wait"): a response may take that much longer. */
const SERVER_WAIT_MS = 120_000;
const PAGE_LIMIT_DEFAULT = 50;

export function createRunsClient(parts: WholeContext): RunsClient {
  const { ask, newIdempotencyKey, onWarning, timeoutMs } = parts;
  const create: RunsClient["create"] = (body, options = {}) => {
    const { signal, idempotencyKey = newIdempotencyKey(), waitSeconds, respondAsync, stream } = options;
    const prefer = preferHeader(respondAsync && "respond-async", stream && "stream", waitPreference(waitSeconds));
    const headers = { ...prefer, "idempotency-key": idempotencyKey };
    return ask("createRun", { body, headers, signal, timeoutMs: timeoutMs + SERVER_WAIT_MS });
  };
  const list: RunsClient["list"] = (query = {}, { signal } = {}) => ask("listRuns", { query, signal });
  const waitUntilFinal = async (runId: string, { signal, onProgress, pollSeconds }: WaitOptions): Promise<Run> => {
    const log = createEventLog(onProgress, onWarning);
    const run = await waitForRun(parts, runId, { log, signal, pollSeconds });
    log.finish(run);
    return run;
  };
  return {
    create,
    list,
    follow: (runId, { signal } = {}) => followRun(parts, runId, { signal }),
    get: (runId, { signal, waitSeconds } = {}) => {
      const headers = preferHeader(waitPreference(waitSeconds));
      return ask("getRun", { params: { runId }, headers, signal, timeoutMs: timeoutMs + (waitSeconds ?? 0) * 1_000 });
    },
    watch: (runId, { signal, onProgress } = {}) => waitUntilFinal(runId, { signal, onProgress }),
    createAndWait: async (body, { signal, idempotencyKey, pollSeconds, onUnfinished } = {}) => {
      const created = await create(body, { signal, idempotencyKey }).catch(runOfTimeout);
      if (typeof created !== "string" && isFinal(created)) return created;
      const runId = typeof created === "string" ? created : created.runId;
      onUnfinished?.(runId);
      return waitUntilFinal(runId, { signal, pollSeconds });
    },
    listAll: ({ limit = PAGE_LIMIT_DEFAULT, startingAfter, ...query } = {}, options) =>
      readPages(
        (last = startingAfter) => list({ ...query, limit, startingAfter: last }, options),
        (row) => row.runId,
      ),
    // Canceling a run twice has no further effect.
    cancel: (runId, { signal } = {}) => ask("cancelRun", { params: { runId }, signal, isRepeatable: true }),
  };
}

/** A 504 names the run, which continues; creating it again would run and charge twice. */
function runOfTimeout(error: unknown): string {
  const runId = error instanceof PromptdError ? error.runId : null;
  if (runId === null) throw error;
  return runId;
}

function waitPreference(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : `wait=${Math.max(0, Math.ceil(seconds))}`;
}

/** @param preferences false and undefined are not sent. */
function preferHeader(...preferences: readonly (string | false | undefined)[]): Record<string, string | null> {
  return { prefer: preferences.filter((preference) => preference).join(", ") || null };
}
