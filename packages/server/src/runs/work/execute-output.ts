import { isStorageFailure, StorageFailure, type Files, type GeneratedFile } from "../../files/index.ts";
import type { Catalogue, ModelCaller, ModelRequest } from "../../models/index.ts";
import { retry, type RetryOptions } from "../../platform/resilience/retry.ts";
import { errorItem, type RunItem } from "./output-items.ts";
import type { Postponed } from "./run-outcome.ts";

/** The dependencies for making an output item. */
export interface ItemContext {
  readonly catalogue: Catalogue;
  readonly caller: ModelCaller;
  readonly files: Pick<Files, "isReady" | "loadImages" | "storeOutput">;
}

const STORE_BACKOFF = { baseMs: 500, capMs: 10_000 };
const NOT_STORED = "The result could not be stored. You were not charged for it.";

/** Calls a model for one item, and stores the file it makes. @throws StorageFailure. */
export async function executeItem(
  request: ModelRequest,
  { catalogue, caller, files }: ItemContext,
  signal: AbortSignal,
): Promise<RunItem | Postponed> {
  const makesFile = catalogue.find(request.model)?.modality !== "text";
  // Do not pay for output that cannot be stored.
  if (makesFile && !(await files.isReady())) throw new StorageFailure("Files cannot be stored.");
  const answer = await caller.call(request, signal);
  if (answer.kind === "later") return { kind: "postponed", delayMs: answer.delayMs };
  const { accountId, step, item } = request;
  if (answer.kind === "failed") return errorItem(step, item, answer);
  const usage = { step, usage: answer.usage, ...(answer.model === request.model ? {} : { model: answer.model }) };
  if (answer.kind === "text") return { step, item, output: { type: "text", data: answer.text }, usage, file: null };
  const { mediaType } = answer;
  const generated: GeneratedFile =
    answer.kind === "image"
      ? { modality: answer.kind, accountId, bytes: answer.bytes, mediaType }
      : { modality: answer.kind, content: answer.content, mediaType };
  const file = await storeWithRetries(generated, { deadlineMs: request.deadlineMs, files }, signal);
  if (file.kind === "refused") return errorItem(step, item, { cause: "not_stored", message: file.message });
  return { step, item, output: { type: answer.kind, data: file.url }, usage, file };
}

interface StoreOptions extends Pick<RetryOptions, "nowMs" | "sleep"> {
  /** On the monotonic clock (`performance.now()`). */
  readonly deadlineMs: number;
  readonly files: Pick<Files, "storeOutput">;
}

/**
 * Stores what a model made. An image has been paid for and exists nowhere else, so this process holds it until storage
 * works again or the run reaches its deadline. A video stays available at its provider, so its run is postponed.
 */
export async function storeWithRetries(
  output: GeneratedFile,
  { deadlineMs, files, nowMs = () => performance.now(), ...clock }: StoreOptions,
  signal: AbortSignal,
): ReturnType<Files["storeOutput"]> {
  const on = (error: unknown) => isStorageFailure(error) && output.modality === "image";
  const policy = { ...clock, on, backoff: STORE_BACKOFF, timeoutMs: deadlineMs - nowMs(), signal, nowMs };
  try {
    return await retry(() => files.storeOutput(output, signal), policy);
  } catch (error) {
    signal.throwIfAborted();
    if (on(error)) return { kind: "refused", message: NOT_STORED };
    throw error;
  }
}
