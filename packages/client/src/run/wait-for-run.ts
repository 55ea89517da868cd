import type { Run } from "@promptd/contract";
import type { CallEndpoint } from "../call-endpoint.ts";
import type { Delay } from "../delay.ts";
import type { Follow } from "../follow-run.ts";
import type { EventLog } from "./event-log.ts";
import { isFinal, preferHeader, waitPreference } from "./preferences.ts";

export interface WaitParts {
  readonly call: CallEndpoint;
  readonly follow: Follow;
  readonly delay: Delay;
  /** Time for everything but waiting. */
  readonly timeoutMs: number;
}

export interface Waiting {
  readonly log: EventLog;
  readonly signal: AbortSignal | undefined;
  /** How long one poll is sent again; the client's `maxRetries` when absent. */
  readonly retryForMs?: number | undefined;
  readonly pollSeconds?: number | undefined;
}

/** Below the time after which common proxies give up (60 seconds). */
export const WAIT_SECONDS = 30;
/** Pause between two polls that waited; one that came back at once is asked again later. */
const POLL_PAUSE_MS = 250;
const POLL_PAUSE_UNWAITED_MS = 2_000;

/** Stays with a run until it is final: by its events where somebody reads them and a stream gets through, else by polls. */
export async function waitForRun(parts: WaitParts, runId: string, waiting: Waiting): Promise<Run> {
  const { log, signal, retryForMs, pollSeconds = WAIT_SECONDS } = waiting;
  for (;;) {
    const followed = log.isRead() ? await followOnce(parts, runId, waiting) : null;
    if (followed !== null) return followed;
    const { data, headers } = await parts.call("getRun", {
      params: { runId },
      query: {},
      body: undefined,
      headers: preferHeader([waitPreference(pollSeconds)]),
      timeoutMs: parts.timeoutMs + pollSeconds * 1_000,
      signal,
      retryForMs,
    });
    if (isFinal(data)) return data;
    log.state(runId, data.runStatus);
    const hasWaited = (headers.get("preference-applied") ?? "").includes("wait");
    await parts.delay(hasWaited ? POLL_PAUSE_MS : POLL_PAUSE_UNWAITED_MS, signal);
  }
}

/** @returns null when the stream broke off, or none came through. */
async function followOnce({ follow }: WaitParts, runId: string, { log, signal }: Waiting): Promise<Run | null> {
  try {
    for await (const event of follow(runId, { signal, lastEventId: log.lastEventId(), maxRetries: 1 })) {
      if (event.event === "done") return event.data;
      log.add(event);
    }
  } catch {
    signal?.throwIfAborted(); // every other error shows in the poll that follows, unless it was the stream's alone
  }
  return null;
}
