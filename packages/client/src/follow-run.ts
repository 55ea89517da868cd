import { ENDPOINTS, type RunEvent } from "@promptd/contract";
import { readData, requestOf, type CallPolicy } from "./call-endpoint.ts";
import { PromptdConnectionError } from "./errors.ts";
import { chooseRetryPause } from "./retry.ts";
import type { Open } from "./transport.ts";

/** Where a broken stream goes on. */
interface Progress {
  readonly runId: string;
  readonly signal: AbortSignal | undefined;
  lastEventId: string | null;
  /** Connections in a row that brought no event. */
  failedBefore: number;
}

interface Broken {
  readonly error: unknown;
  /** The answer forbids another try. */
  readonly isForbidden: boolean;
}

interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** The id of the last text event that has arrived; text continues behind it. */
  readonly lastEventId?: string | null | undefined;
  /** Connections in a row that may bring no event before it is given up; the client's `maxRetries` when absent. */
  readonly maxRetries?: number | undefined;
}

export type Follow = (runId: string, options?: FollowOptions) => AsyncGenerator<RunEvent, void>;

export function createFollow(open: Open, policy: CallPolicy): Follow {
  return async function* follow(runId, { signal, lastEventId = null, maxRetries = policy.maxRetries } = {}) {
    const progress: Progress = { runId, signal, lastEventId, failedBefore: 0 };
    for (;;) {
      const broken = yield* followOnce(open, progress);
      if (broken === null) return;
      signal?.throwIfAborted();
      const { failedBefore } = progress;
      const pause = chooseRetryPause({ ...broken, isRepeatable: true, failedBefore, random: policy.random() });
      if (pause === null || failedBefore >= maxRetries) throw broken.error;
      progress.failedBefore += 1;
      await policy.delay(pause, signal);
    }
  };
}

/** The server sends something every ten seconds. */
const SILENCE_MS_MAX = 30_000;

/** Events of one connection. @returns null after the end of the run; else why there are no more. */
async function* followOnce(open: Open, progress: Progress): AsyncGenerator<RunEvent, Broken | null> {
  const { runId, signal, lastEventId } = progress;
  const headers = { accept: "text/event-stream", ...(lastEventId === null ? {} : { "last-event-id": lastEventId }) };
  const call = { params: { runId }, query: {}, body: undefined, headers, signal, timeoutMs: SILENCE_MS_MAX };
  let isForbidden = false;
  try {
    const answer = await open(requestOf(ENDPOINTS.followRun, call));
    if (!(Symbol.asyncIterator in answer)) {
      isForbidden = answer.headers.get("x-should-retry") === "false";
      readData(answer);
      return { error: endedEarly(), isForbidden };
    }
    for await (const event of readEvents(answer)) {
      if ("id" in event) progress.lastEventId = event.id;
      progress.failedBefore = 0;
      yield event;
      if (event.event === "done") return null;
    }
    return { error: endedEarly(), isForbidden };
  } catch (error) {
    return { error, isForbidden };
  }
}

/** A server that stops, or a proxy, ends a stream before the run has ended. */
function endedEarly(): PromptdConnectionError {
  return new PromptdConnectionError("The stream of events ended before the run did.", { timedOut: false, cause: null });
}

/** Server-sent events as the server writes them: one line for each field, a blank line behind each event. */
async function* readEvents(pieces: AsyncIterable<string>): AsyncGenerator<RunEvent> {
  let unread = "";
  for await (const piece of pieces) {
    const blocks = (unread + piece).split("\n\n");
    unread = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(block.split("\n").map((line) => splitField(line)));
      const event = fields.get("event");
      if (event === undefined) continue; // a comment, or the time after which to come back
      const id = fields.get("id");
      const data: unknown = JSON.parse(fields.get("data") ?? "null");
      yield { event, data, ...(id === undefined ? {} : { id }) } as RunEvent;
    }
  }
}

function splitField(line: string): [string, string] {
  const at = line.indexOf(": ");
  return [line.slice(0, at), line.slice(at + 2)];
}
