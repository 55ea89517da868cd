import type { Run } from "@promptd/contract";
import type { ClientContext } from "../client-context.ts";
import { RETRY_FOR_MS } from "../retry.ts";
import type { EventLog } from "./event-log.ts";

export interface Waiting {
  readonly log: EventLog;
  readonly signal?: AbortSignal | undefined;
  /** How long to retry a poll. */
  readonly retryForMs?: number | undefined;
  readonly pollSeconds?: number | undefined;
}

/** Below the timeout of common proxies (60 seconds). */
export const WAIT_SECONDS = 30;
/** Pause after a poll that waited; after a poll that returned immediately, the pause is longer. */
const POLL_PAUSE_MS = 250;
const POLL_PAUSE_UNWAITED_MS = 2_000;

export function isFinal(run: Run): boolean {
  return run.runStatus === "succeeded" || run.runStatus === "failed";
}

/** Waits until a run is final: by its events if someone reads them and the stream works, otherwise by polling. */
export async function waitForRun(parts: ClientContext, runId: string, waiting: Waiting): Promise<Run> {
  const { log, signal, retryForMs = RETRY_FOR_MS, pollSeconds = WAIT_SECONDS } = waiting;
  for (;;) {
    if (log.isRead()) {
      const followed = await import("../follow-run.ts").then(
        ({ followInto }) => followInto(parts, runId, waiting),
        () => null, // the module did not load; polling finds the end
      );
      if (followed !== null) return followed;
    }
    const { data, headers } = await parts.call("getRun", {
      params: { runId },
      headers: { prefer: `wait=${Math.ceil(pollSeconds)}` },
      timeoutMs: parts.timeoutMs + pollSeconds * 1_000,
      signal,
      retryForMs,
    });
    if (isFinal(data)) return data;
    log.state(runId, data.runStatus);
    const hasWaited = headers.get("preference-applied")?.includes("wait");
    await parts.policy.delay(hasWaited === true ? POLL_PAUSE_MS : POLL_PAUSE_UNWAITED_MS, signal);
  }
}
