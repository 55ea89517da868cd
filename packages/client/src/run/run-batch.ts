import type { Batch, BatchItem, BatchResult } from "@promptd/contract";
import type { BatchesClient } from "../batches.ts";
import type { CallEndpoint } from "../call-endpoint.ts";
import { toImageInput, type ImageSource } from "../images.ts";
import { toTexts, type InputsOf, type OptionsOf } from "./known-prompts.ts";
import { findBySlug, findLatest, isId, isNotFound, type Resolving } from "./resolve-prompt.ts";

/** One run of a batch. */
export interface BatchRun<Name = string> {
  readonly inputs?: InputsOf<Name>;
  /** In the order of the prompt's slots. */
  readonly images?: readonly ImageSource[] | undefined;
  /** Your own name for it, which its result has too; no two of a batch are the same. */
  readonly key?: string | undefined;
}

export interface RunBatchOptions<Name = string> {
  /** Run options of the model, for every run. */
  readonly options?: OptionsOf<Name>;
  /** Shown in lists. */
  readonly name?: string | undefined;
  /** Ends the waiting, not the batch. */
  readonly signal?: AbortSignal | undefined;
  /** Called whenever the batch has changed, first when it was created: its id finds it again. */
  readonly onProgress?: ((batch: Batch) => void) | undefined;
  /**
   * Names this batch, for a program that may be started again: the same call then goes on with the same batch. A random
   * one when absent.
   */
  readonly idempotencyKey?: string | undefined;
  /** How long a request is sent again while the server cannot be reached or says to come back; 120,000 when absent. */
  readonly retryForMs?: number | undefined;
}

/** A batch of which nothing is open any more. */
export interface FinishedBatch extends Batch {
  /** What became of each item, in their order; read from the server as it is needed. */
  results(): AsyncGenerator<BatchResult, void>;
}

export interface RunBatchParts {
  readonly call: CallEndpoint;
  readonly batches: BatchesClient;
  readonly newIdempotencyKey: () => string;
}

const RETRY_FOR_MS = 120_000;

/** Creates a batch once and waits for its end, whatever breaks in between. */
export async function runBatch(
  { call, batches, newIdempotencyKey }: RunBatchParts,
  prompt: string,
  runs: readonly BatchRun[],
  options: RunBatchOptions = {},
): Promise<FinishedBatch> {
  const { name, signal, onProgress, retryForMs = RETRY_FOR_MS, idempotencyKey = newIdempotencyKey() } = options;
  const items = await Promise.all(runs.map(toItem));
  const create = (promptVersionId: string) => {
    const body = { promptVersionId, items, runOptions: toTexts(options.options ?? {}), name };
    return batches.create(body, { idempotencyKey, signal });
  };
  const created = await resolveAnd(call, prompt, { signal, retryForMs }, create);
  const finished = await batches.wait(created.batchId, { signal, onProgress, retryForMs });
  return { ...finished, results: () => batches.results(finished.batchId, { signal }) };
}

async function toItem({ inputs = {}, images = [], key }: BatchRun): Promise<BatchItem> {
  const imageInputs = await Promise.all(images.map(toImageInput));
  return { inputs: { textInputs: toTexts(inputs), imageInputs }, ...(key === undefined ? {} : { key }) };
}

/** An id is tried as that of a version first, and then as that of a prompt. */
async function resolveAnd<Result>(
  call: CallEndpoint,
  prompt: string,
  resolving: Resolving,
  work: (promptVersionId: string) => Promise<Result>,
): Promise<Result> {
  if (!isId(prompt)) return work(await findBySlug(call, prompt, resolving));
  try {
    return await work(prompt);
  } catch (error) {
    const latest = isNotFound(error) ? await findLatest(call, prompt, resolving) : null;
    if (latest === null) throw error;
    return work(latest);
  }
}
