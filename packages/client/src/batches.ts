import {
  ENDPOINTS,
  type Batch,
  type BatchList,
  type BatchResult,
  type CreateBatchBody,
  type ListBatchesQuery,
} from "@promptd/contract";
import { readData, requestOf, type CallEndpoint, type CallPolicy } from "./call-endpoint.ts";
import type { Delay } from "./delay.ts";
import { PromptdProtocolError } from "./errors.ts";
import { chooseRetryPause } from "./retry.ts";
import type { CallOptions } from "./runs.ts";
import type { Open } from "./transport.ts";

export interface CreateBatchOptions extends CallOptions {
  /**
   * Names this batch for as long as it exists, so that a repeat finds it instead of making another. A random one when
   * absent; null sends none, and then a lost connection is not retried.
   */
  readonly idempotencyKey?: string | null | undefined;
}

export interface WaitForBatchOptions extends CallOptions {
  /** Called whenever the batch has changed. */
  readonly onProgress?: ((batch: Batch) => void) | undefined;
  /** Pause between two polls; 1,000 when absent. */
  readonly pollMs?: number | undefined;
  /** How long a request is sent again while the server cannot be reached or says to come back; 120,000 when absent. */
  readonly retryForMs?: number | undefined;
}

export interface BatchesClient {
  create(body: CreateBatchBody, options?: CreateBatchOptions): Promise<Batch>;
  get(batchId: string, options?: CallOptions): Promise<Batch>;
  list(query?: ListBatchesQuery, options?: CallOptions): Promise<BatchList>;
  /** All pages, newest first. */
  listAll(query?: Pick<ListBatchesQuery, "limit">, options?: CallOptions): AsyncGenerator<Batch, void>;
  /** Items that have ended, in their order. A lost connection is opened again and goes on behind the last item. */
  results(
    batchId: string,
    options?: CallOptions & { readonly startingAfter?: number | undefined },
  ): AsyncGenerator<BatchResult, void>;
  /** The same as the text of a CSV file. */
  resultsAsCsv(batchId: string, options?: CallOptions): AsyncGenerator<string, void>;
  /** Polls a batch until nothing of it is open any more, also while it is paused; end it with the signal. */
  wait(batchId: string, options?: WaitForBatchOptions): Promise<Batch>;
  /** Nothing of it is started any more, and its runs are canceled. A finished batch is answered unchanged. */
  cancel(batchId: string, options?: CallOptions): Promise<Batch>;
  /** Goes on with a paused batch, with this client's API key. */
  resume(batchId: string, options?: CallOptions): Promise<Batch>;
}

export interface BatchesDependencies {
  readonly call: CallEndpoint;
  readonly open: Open;
  readonly policy: CallPolicy;
  readonly newIdempotencyKey: () => string;
  readonly timeoutMs: number;
}

/** Ten thousand items are checked and stored before the answer. */
const CREATE_MS = 60_000;
const POLL_MS = 1_000;
const RETRY_FOR_MS = 120_000;
const PAGE_LIMIT = 50;
/** The server reads a page of results in far less. */
const SILENCE_MS_MAX = 30_000;

export function createBatchesClient(dependencies: BatchesDependencies): BatchesClient {
  const { call, policy } = dependencies;
  const nothing = { query: {}, body: undefined } as const;
  const list: BatchesClient["list"] = async (query = {}, { signal } = {}) =>
    (await call("listBatches", { params: {}, query, body: undefined, signal })).data;
  return {
    list,
    create: async (body, { idempotencyKey = dependencies.newIdempotencyKey(), signal } = {}) => {
      const headers = { "idempotency-key": idempotencyKey };
      const timeoutMs = dependencies.timeoutMs + CREATE_MS;
      return (await call("createBatch", { params: {}, query: {}, body, headers, signal, timeoutMs })).data;
    },
    get: async (batchId, { signal } = {}) => (await call("getBatch", { params: { batchId }, ...nothing, signal })).data,
    async *listAll(query = {}, options = {}) {
      let startingAfter: string | undefined;
      for (;;) {
        const page = await list({ limit: query.limit ?? PAGE_LIMIT, startingAfter }, options);
        yield* page.rows;
        startingAfter = page.rows.at(-1)?.batchId;
        if (!page.hasMore || startingAfter === undefined) return;
      }
    },
    results: (batchId, options = {}) => readResults(dependencies, batchId, options),
    resultsAsCsv: (batchId, { signal } = {}) => openResults(dependencies, batchId, { signal, accept: "text/csv" }),
    wait: (batchId, options = {}) => waitFor({ call, delay: policy.delay }, batchId, options),
    cancel: async (batchId, { signal } = {}) =>
      (await call("cancelBatch", { params: { batchId }, ...nothing, signal, isRepeatable: true })).data,
    resume: async (batchId, { signal } = {}) =>
      (await call("resumeBatch", { params: { batchId }, ...nothing, signal, isRepeatable: true })).data,
  };
}

async function waitFor(
  { call, delay }: { readonly call: CallEndpoint; readonly delay: Delay },
  batchId: string,
  { onProgress, pollMs = POLL_MS, retryForMs = RETRY_FOR_MS, signal }: WaitForBatchOptions,
): Promise<Batch> {
  let seen = "";
  for (;;) {
    const { data } = await call("getBatch", { params: { batchId }, query: {}, body: undefined, signal, retryForMs });
    const now = JSON.stringify(data);
    if (now !== seen) onProgress?.(data);
    seen = now;
    if (data.finishedAt !== null) return data;
    await delay(pollMs, signal);
  }
}

interface ResultsRequest extends CallOptions {
  readonly accept: string;
  readonly startingAfter?: number | undefined;
}

/** The text of one answer as it arrives. @throws PromptdError for an error envelope. */
async function* openResults(
  { open }: Pick<BatchesDependencies, "open">,
  batchId: string,
  { accept, startingAfter, signal }: ResultsRequest,
): AsyncGenerator<string, void> {
  const call = { params: { batchId }, query: { startingAfter }, body: undefined, headers: { accept }, signal };
  const answer = await open(requestOf(ENDPOINTS.getBatchResults, { ...call, timeoutMs: SILENCE_MS_MAX }));
  if (Symbol.asyncIterator in answer) return yield* answer;
  readData(answer);
  throw new PromptdProtocolError("The results of a batch came as an envelope.", {
    httpStatus: answer.httpStatus,
    bodyStart: answer.text.slice(0, 200),
  });
}

async function* readResults(
  dependencies: BatchesDependencies,
  batchId: string,
  options: CallOptions & { readonly startingAfter?: number | undefined },
): AsyncGenerator<BatchResult, void> {
  const { policy } = dependencies;
  const { signal } = options;
  let { startingAfter } = options;
  for (let failedBefore = 0; ; failedBefore += 1) {
    try {
      const pieces = openResults(dependencies, batchId, { accept: "application/x-ndjson", startingAfter, signal });
      for await (const line of readLines(pieces)) {
        const result = JSON.parse(line) as BatchResult;
        yield result;
        startingAfter = result.index;
        failedBefore = 0;
      }
      return;
    } catch (error) {
      signal?.throwIfAborted();
      const retry = { error, isForbidden: false, isRepeatable: true, failedBefore, random: policy.random() };
      const pause = chooseRetryPause(retry);
      if (pause === null || failedBefore >= policy.maxRetries) throw error;
      await policy.delay(pause, signal);
    }
  }
}

async function* readLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let unread = "";
  for await (const piece of pieces) {
    const lines = (unread + piece).split("\n");
    unread = lines.pop() ?? "";
    yield* lines;
  }
}
