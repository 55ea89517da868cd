import { isStorageFailure, type Files } from "../../files/index.ts";
import { fullJitterDelayMs } from "../../platform/resilience/retry.ts";
import type { ExecuteRunPorts } from "./execute-run.ts";

const BACKOFF = { baseMs: 500, capMs: 10_000 };
const NOT_STORED = "The result could not be stored. You were not charged for it.";

interface Keeping {
  /** By `ports.nowMs`. */
  readonly deadlineMs: number;
  readonly ports: Pick<ExecuteRunPorts, "storeOutput" | "nowMs" | "wait">;
}

/**
 * Keeps what a model made. An image has been paid for and exists nowhere else, so it is held until the storage works
 * again or the run's deadline is there; a video waits at its provider, and its run is given back.
 */
export async function keepPatiently(
  output: Parameters<Files["storeOutput"]>[0],
  { deadlineMs, ports }: Keeping,
  signal: AbortSignal,
): ReturnType<Files["storeOutput"]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ports.storeOutput(output, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isStorageFailure(error) || output.modality === "video") throw error;
    }
    const delayMs = fullJitterDelayMs(attempt, BACKOFF);
    if (ports.nowMs() + delayMs >= deadlineMs) return { kind: "refused", message: NOT_STORED };
    await ports.wait(delayMs, signal);
  }
}
