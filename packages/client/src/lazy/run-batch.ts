import type { Batch, BatchItem, BatchResult } from "@promptd/contract";
import type { ClientContext } from "../client-context.ts";
import { toTexts, type OptionsOf } from "../run/known-prompts.ts";
import { createOfPrompt } from "../run/resolve-prompt.ts";
import { RETRY_FOR_MS } from "../retry.ts";
import { readInputs, type InputsOfRun } from "../run/run-prompt.ts";
import { createBatchesClient } from "./batches.ts";
import { refuseUnknown } from "./refuse-unknown.ts";

/** One run of a batch. */
export interface BatchRun<Name = string> extends InputsOfRun<Name> {
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

const OPTIONS: readonly (keyof RunBatchOptions)[] = [
  "options",
  "name",
  "signal",
  "onProgress",
  "idempotencyKey",
  "retryForMs",
];

/** A batch of which nothing is open any more. */
export interface FinishedBatch extends Batch {
  /** What became of each item, in their order; read from the server as it is needed. */
  results(): AsyncGenerator<BatchResult, void>;
}

/** What `client.runBatch` is given. */
export type RunBatchArguments = [prompt: string, runs: readonly BatchRun[], options?: RunBatchOptions];

/** Creates a batch once and waits for its end, whatever breaks in between. */
export async function runBatch(
  parts: ClientContext,
  [name, runs, options = {}]: RunBatchArguments,
): Promise<FinishedBatch> {
  refuseUnknown("runBatch()", options, OPTIONS);
  const { ask, newIdempotencyKey } = parts;
  const batches = createBatchesClient(parts);
  const { signal, onProgress, retryForMs = RETRY_FOR_MS, idempotencyKey } = options;
  const items = await Promise.all(runs.map(toItem));
  const runOptions = await toTexts("Option", options.options);
  const key = idempotencyKey ?? newIdempotencyKey();
  const resolving = { ask, name, signal, retryForMs };
  const { batchId } = await createOfPrompt(resolving, (promptVersionId) =>
    batches.create(
      { promptVersionId, items, runOptions, name: options.name },
      { idempotencyKey: key, signal, retryForMs },
    ),
  );
  const finished = await batches.wait(batchId, { signal, onProgress, retryForMs });
  return { ...finished, results: () => batches.results(batchId, { signal }) };
}

const ITEM: readonly (keyof BatchRun)[] = ["inputs", "images", "key"];

async function toItem(item: BatchRun): Promise<BatchItem> {
  refuseUnknown("An item of runBatch()", item, ITEM);
  const { key, inputs, images } = item;
  return { inputs: await readInputs(inputs, images), ...(key === undefined ? {} : { key }) };
}
