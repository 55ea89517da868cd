import {
  ENDPOINTS,
  type Batch,
  type BatchResult,
  type CreateBatchBody,
  type Page,
  type PageQuery,
} from "@promptd/contract";
import { requestOf } from "../call-endpoint.ts";
import type { ClientContext } from "../client-context.ts";
import { createRetries, RETRY_FOR_MS, type Retries } from "../retry.ts";
import { openStream } from "../stream.ts";
import { readPages } from "./pages.ts";
import type { CallOptions } from "./runs.ts";

export interface CreateBatchOptions extends CallOptions {
  /**
   * Names this batch for as long as it exists, so that a repeat finds it instead of making another. A random one when
   * absent; null sends none, and then a lost connection is not retried.
   */
  readonly idempotencyKey?: string | null | undefined;
  /** How long it is sent again while the server cannot be reached or says to come back; `maxRetries` times when absent. */
  readonly retryForMs?: number | undefined;
}

export interface WaitForBatchOptions extends CallOptions {
  /** Called whenever the batch has changed. */
  readonly onProgress?: ((batch: Batch) => void) | undefined;
  /** Pause between two polls; 1,000 when absent. */
  readonly pollMs?: number | undefined;
  /** How long a request is sent again while the server cannot be reached or says to come back; 120,000 when absent. */
  readonly retryForMs?: number | undefined;
}

interface ResultsOptions extends CallOptions {
  /** Index of the last item that is known. */
  readonly startingAfter?: number | undefined;
}

export interface BatchesClient {
  create(body: CreateBatchBody, options?: CreateBatchOptions): Promise<Batch>;
  get(batchId: string, options?: CallOptions): Promise<Batch>;
  list(query?: PageQuery, options?: CallOptions): Promise<Page<Batch>>;
  /** All pages, newest first. */
  listAll(query?: Pick<PageQuery, "limit">, options?: CallOptions): AsyncGenerator<Batch, void>;
  /** Items that have ended, in their order. A lost connection is opened again and goes on behind the last item. */
  results(batchId: string, options?: ResultsOptions): AsyncGenerator<BatchResult, void>;
  /** The same as the text of a CSV file. */
  resultsAsCsv(batchId: string, options?: CallOptions): AsyncGenerator<string, void>;
  /** Polls a batch until nothing of it is open any more, also while it is paused; end it with the signal. */
  wait(batchId: string, options?: WaitForBatchOptions): Promise<Batch>;
  /** Nothing of it is started any more, and its runs are canceled. A finished batch is answered unchanged. */
  cancel(batchId: string, options?: CallOptions): Promise<Batch>;
  /** Goes on with a paused batch, with this client's API key. */
  resume(batchId: string, options?: CallOptions): Promise<Batch>;
}

/** Ten thousand items are checked and stored before the answer. */
const CREATE_MS = 60_000;
const POLL_MS = 1_000;
const PAGE_LIMIT = 50;

export function createBatchesClient(parts: ClientContext): BatchesClient {
  const { ask, newIdempotencyKey, timeoutMs } = parts;
  const list: BatchesClient["list"] = (query = {}, { signal } = {}) => ask("listBatches", { query, signal });
  return {
    list,
    create: (body, { idempotencyKey = newIdempotencyKey(), signal, retryForMs } = {}) => {
      const headers = { "idempotency-key": idempotencyKey };
      return ask("createBatch", { body, headers, signal, retryForMs, timeoutMs: timeoutMs + CREATE_MS });
    },
    get: (batchId, { signal } = {}) => ask("getBatch", { params: { batchId }, signal }),
    listAll: ({ limit = PAGE_LIMIT } = {}, options) =>
      readPages(
        (startingAfter) => list({ limit, startingAfter }, options),
        (row) => row.batchId,
      ),
    results: (batchId, options = {}) => readResults(parts, batchId, options),
    resultsAsCsv: async function* resultsAsCsv(batchId, { signal } = {}) {
      yield* await openCsv(parts, { batchId, signal, accept: "text/csv" });
    },
    wait: (batchId, options = {}) => waitFor(parts, batchId, options),
    cancel: (batchId, { signal } = {}) => ask("cancelBatch", { params: { batchId }, signal, isRepeatable: true }),
    resume: (batchId, { signal } = {}) => ask("resumeBatch", { params: { batchId }, signal, isRepeatable: true }),
  };
}

async function waitFor(
  { ask, policy }: ClientContext,
  batchId: string,
  { onProgress, pollMs = POLL_MS, retryForMs = RETRY_FOR_MS, signal }: WaitForBatchOptions,
): Promise<Batch> {
  let seen = "";
  for (;;) {
    const batch = await ask("getBatch", { params: { batchId }, signal, retryForMs });
    const now = JSON.stringify(batch);
    if (now !== seen) onProgress?.(batch);
    seen = now;
    if (batch.finishedAt !== null) return batch;
    await policy.delay(pollMs, signal);
  }
}

interface ResultsRequest extends CallOptions, ResultsOptions {
  readonly batchId: string;
  readonly accept: string;
}

/** The text of one answer as it arrives. @throws PromptdError for an error envelope. */
function openResults(
  { exchange }: ClientContext,
  retries: Retries,
  { batchId, accept, startingAfter, signal }: ResultsRequest,
): Promise<AsyncIterable<string>> {
  const call = { params: { batchId }, query: { startingAfter }, headers: { accept }, signal };
  const request = requestOf(ENDPOINTS.getBatchResults, call);
  return openStream(exchange, request, retries);
}

/** Asked for again until it begins: what has been given of it cannot be continued. */
async function openCsv(parts: ClientContext, request: ResultsRequest): Promise<AsyncIterable<string>> {
  const retries = createRetries(parts.policy, request);
  for (;;) {
    try {
      return await openResults(parts, retries, request);
    } catch (error) {
      await retries.next(error);
    }
  }
}

async function* readResults(
  parts: ClientContext,
  batchId: string,
  { signal, startingAfter }: ResultsOptions,
): AsyncGenerator<BatchResult, void> {
  const retries = createRetries(parts.policy, { signal });
  let last = startingAfter;
  for (;;) {
    try {
      const request = { batchId, accept: "application/x-ndjson", startingAfter: last, signal };
      for await (const line of readLines(await openResults(parts, retries, request))) {
        const result = JSON.parse(line) as BatchResult;
        yield result;
        last = result.index;
        retries.restart();
      }
      return;
    } catch (error) {
      await retries.next(error);
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
