import type { Batch, BatchItem, BatchResult } from "@promptd/contract";
import type { WholeContext } from "../client-context.ts";
import { toTexts, type OptionsOf } from "../run/known-prompts.ts";
import { createOfPrompt } from "../run/resolve-prompt.ts";
import { RETRY_FOR_MS } from "../retry.ts";
import type { InputsOfRun } from "../run/run-options.ts";
import { readInputs } from "../run/run-prompt.ts";
import { createBatchesClient } from "./batches.ts";
import { refuseUnknown, type Members } from "./refuse-unknown.ts";

/** One item of a batch. */
export interface BatchRun<Name = string> extends InputsOfRun<Name> {
  /** Your own name for the item, unique in the batch; its result has it too. */
  readonly key?: string | undefined;
}

export interface RunBatchOptions<Name = string> {
  /** Run options of the model, for every run. */
  readonly options?: OptionsOf<Name>;
  /** Shown in lists. */
  readonly name?: string | undefined;
  /** Stops the waiting, not the batch. */
  readonly signal?: AbortSignal | undefined;
  /** Called whenever the batch changes, first when it is created, so that its id is known. */
  readonly onProgress?: ((batch: Batch) => void) | undefined;
  /**
   * Identifies this batch, for programs that may restart: the same call then continues with the same batch. Default: a
   * random key.
   */
  readonly idempotencyKey?: string | undefined;
  /** How long to retry while the server is unreachable or asks to retry later. Default: 120,000. */
  readonly retryForMs?: number | undefined;
}

const OPTIONS: Members<RunBatchOptions> = {
  options: true,
  name: true,
  signal: true,
  onProgress: true,
  idempotencyKey: true,
  retryForMs: true,
};

/** A batch whose items have all ended. */
export interface FinishedBatch extends Batch {
  /** The result of each item, in order; read from the server as needed. */
  results(): AsyncGenerator<BatchResult, void>;
}

/** The arguments of `client.runBatch`. */
export type RunBatchArguments = [prompt: string, runs: readonly BatchRun[], options?: RunBatchOptions];

/** Creates a batch once and waits for its end, even if requests fail in between. */
export async function runBatch(
  parts: WholeContext,
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

const ITEM: Members<BatchRun> = { inputs: true, images: true, key: true };

async function toItem(item: BatchRun): Promise<BatchItem> {
  refuseUnknown("An item of runBatch()", item, ITEM);
  const { key, inputs, images } = item;
  return { inputs: await readInputs(inputs, images), ...(key === undefined ? {} : { key }) };
}
