import {
  ENDPOINTS,
  type Batch,
  type BatchResult,
  type CreateBatchBody,
  type Page,
  type PageQuery,
} from "@promptd/contract";
import { requestOf } from "../call-endpoint.ts";
import type { WholeContext } from "../client-context.ts";
import { createRetries, RETRY_FOR_MS, type Retries } from "../retry.ts";
import { openStream } from "../stream.ts";
import { readPages } from "./pages.ts";
import type { CallOptions } from "./runs.ts";

export interface CreateBatchOptions extends CallOptions {
  /**
   * Identifies this batch for as long as it exists, so that a repeat finds it instead of creating another one. Default:
   * a random key. Null sends no key, and a lost connection is not retried then.
   */
  readonly idempotencyKey?: string | null | undefined;
  /** How long to retry while the server is unreachable or asks to retry later. Default: `maxRetries` times. */
  readonly retryForMs?: number | undefined;
}

export interface WaitForBatchOptions extends CallOptions {
  /** Called whenever the batch changes. */
  readonly onProgress?: ((batch: Batch) => void) | undefined;
  /** Pause between two polls. Default: 1,000. */
  readonly pollMs?: number | undefined;
  /** How long to retry while the server is unreachable or asks to retry later. Default: 120,000. */
  readonly retryForMs?: number | undefined;
}

interface ResultsOptions extends CallOptions {
  /** Index of the last known item. */
  readonly startingAfter?: number | undefined;
}

export interface BatchesClient {
  create(body: CreateBatchBody, options?: CreateBatchOptions): Promise<Batch>;
  get(batchId: string, options?: CallOptions): Promise<Batch>;
  list(query?: PageQuery, options?: CallOptions): Promise<Page<Batch>>;
  /** All pages, newest first. */
  listAll(query?: Pick<PageQuery, "limit">, options?: CallOptions): AsyncGenerator<Batch, void>;
  /** The finished items, in order. Reopens a lost connection and continues after the last item. */
  results(batchId: string, options?: ResultsOptions): AsyncGenerator<BatchResult, void>;
  /** The same as CSV text. */
  resultsAsCsv(batchId: string, options?: CallOptions): AsyncGenerator<string, void>;
  /** Polls a batch until all of its items have ended, even while it is paused; stop it with the signal. */
  wait(batchId: string, options?: WaitForBatchOptions): Promise<Batch>;
  /** Starts no further items and cancels the batch's runs. Returns a finished batch unchanged. */
  cancel(batchId: string, options?: CallOptions): Promise<Batch>;
  /** Resumes a paused batch with this client's API key. */
  resume(batchId: string, options?: CallOptions): Promise<Batch>;
}

/** The server checks and stores up to ten thousand items before it responds. */
const CREATE_MS = 60_000;
const POLL_MS = 1_000;
const PAGE_LIMIT = 50;

export function createBatchesClient(parts: WholeContext): BatchesClient {
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
  { ask, policy }: WholeContext,
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

/** The text of one response as it arrives. @throws PromptdError for an error envelope. */
function openResults(
  { exchange }: WholeContext,
  retries: Retries,
  { batchId, accept, startingAfter, signal }: ResultsRequest,
): Promise<AsyncIterable<string>> {
  const call = { params: { batchId }, query: { startingAfter }, headers: { accept }, signal };
  const request = requestOf(ENDPOINTS.getBatchResults, call);
  return openStream(exchange, request, retries);
}

/** Retried until it starts: a download that broke off cannot be continued. */
async function openCsv(parts: WholeContext, request: ResultsRequest): Promise<AsyncIterable<string>> {
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
  parts: WholeContext,
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
