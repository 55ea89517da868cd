import { isStorageFailure, StorageFailure, type Files, type GeneratedFile } from "../../files/index.ts";
import type { CatalogueEntry, ModelCaller, ModelRequest } from "../../models/index.ts";
import { retry } from "../../platform/resilience/retry.ts";
import { errorItem, type RunItem } from "./output-items.ts";
import type { Postponed } from "./run-outcome.ts";

export interface ItemPorts extends OutputPorts {
  findModel(model: string): CatalogueEntry | null;
  callModel: ModelCaller["call"];
  /** False while files cannot be stored. */
  storageIsReady: Files["isReady"];
}

interface OutputPorts {
  storeOutput: Files["storeOutput"];
  /** The monotonic clock (`performance.now()`) of a run's deadline. */
  nowMs(): number;
  /** Rejects when aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

const STORE_BACKOFF = { baseMs: 500, capMs: 10_000 };
const NOT_STORED = "The result could not be stored. You were not charged for it.";

/** Asks a model for one item, and stores the file that it makes. @throws StorageFailure. */
export async function executeItem(
  request: ModelRequest,
  ports: ItemPorts,
  signal: AbortSignal,
): Promise<RunItem | Postponed> {
  const makesFile = ports.findModel(request.model)?.modality !== "text";
  // What cannot be stored must not be paid for.
  if (makesFile && !(await ports.storageIsReady())) throw new StorageFailure("Files cannot be stored.");
  const answer = await ports.callModel(request, signal);
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
  const file = await storeWithRetries(generated, { deadlineMs: request.deadlineMs, ports }, signal);
  if (file.kind === "refused") return errorItem(step, item, { cause: "not_stored", message: file.message });
  return { step, item, output: { type: answer.kind, data: file.url }, usage, file };
}

interface StoreLimits {
  /** By `ports.nowMs`. */
  readonly deadlineMs: number;
  readonly ports: OutputPorts;
}

/**
 * Stores what a model made. An image has been paid for and exists nowhere else, so this process retains it until the
 * storage works again or the run's deadline comes; a video waits at its provider, and its run is postponed.
 */
export async function storeWithRetries(
  output: GeneratedFile,
  { deadlineMs, ports }: StoreLimits,
  signal: AbortSignal,
): ReturnType<OutputPorts["storeOutput"]> {
  const on = (error: unknown) => isStorageFailure(error) && output.modality === "image";
  const policy = {
    on,
    backoff: STORE_BACKOFF,
    timeoutMs: deadlineMs - ports.nowMs(),
    signal,
    nowMs: () => ports.nowMs(),
    sleep: (ms: number) => ports.wait(ms, signal),
  };
  try {
    return await retry(() => ports.storeOutput(output, signal), policy);
  } catch (error) {
    signal.throwIfAborted();
    if (on(error)) return { kind: "refused", message: NOT_STORED };
    throw error;
  }
}
