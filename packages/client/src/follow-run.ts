import type { Run, RunEvent } from "@promptd/contract";
import { requestOf } from "./call-endpoint.ts";
import type { ClientContext } from "./client-context.ts";
import { PromptdConnectionError } from "./errors.ts";
import { createRetries, type Retries } from "./retry.ts";
import type { EventLog } from "./run/event-log.ts";
import { RUN_ENDPOINTS } from "./run/run-endpoints.ts";
import { openStream } from "./stream.ts";
import type { Exchange } from "./transport.ts";

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** The id of the last text event received; text continues after it. */
  readonly lastEventId?: string | null | undefined;
  /** Consecutive connections without an event before the client gives up. Default: the client's `maxRetries`. */
  readonly maxRetries?: number | undefined;
}

type Following = Pick<ClientContext, "exchange" | "policy">;

/** Yields the events of a run until its end. Reopens a broken connection. */
export async function* followRun(
  { exchange, policy }: Following,
  runId: string,
  { signal, lastEventId = null, maxRetries }: FollowOptions = {},
): AsyncGenerator<RunEvent, void> {
  const progress: Progress = { runId, signal, lastEventId, retries: createRetries(policy, { signal, maxRetries }) };
  for (;;) {
    try {
      return yield* followOnce(exchange, progress);
    } catch (error) {
      await progress.retries.next(error);
    }
  }
}

/** Where a broken stream continues. */
interface Progress {
  readonly runId: string;
  readonly signal: AbortSignal | undefined;
  readonly retries: Retries;
  lastEventId: string | null;
}

/** Events of one connection. @throws an error unless the last one is the end of the run. */
async function* followOnce(exchange: Exchange, progress: Progress): AsyncGenerator<RunEvent, void> {
  const { runId, signal, lastEventId, retries } = progress;
  const headers = { accept: "text/event-stream", "last-event-id": lastEventId };
  const request = requestOf(RUN_ENDPOINTS.followRun, { params: { runId }, headers, signal });
  for await (const event of readEvents(await openStream(exchange, request, retries))) {
    if ("id" in event) progress.lastEventId = event.id;
    retries.restart();
    yield event;
    if (event.event === "done") return;
  }
  throw new PromptdConnectionError(ENDED_EARLY, { timedOut: false, cause: null });
}

/** Writes a run's events to a log. @returns null if the stream broke or never started. */
export async function followInto(
  parts: Following,
  runId: string,
  { log, signal }: { readonly log: EventLog; readonly signal?: AbortSignal | undefined },
): Promise<Run | null> {
  try {
    for await (const event of followRun(parts, runId, { signal, lastEventId: log.lastEventId(), maxRetries: 1 })) {
      if (event.event === "done") return event.data;
      log.add(event);
    }
  } catch {
    signal?.throwIfAborted(); // the next poll reports every other error, unless only the stream failed
  }
  return null;
}

/** A proxy, or a server that shuts down, can end a stream before the run ends. */
const ENDED_EARLY = "The event stream ended before the run did.";

/** Parses server-sent events as the server writes them: one line per field, and a blank line after each event. */
async function* readEvents(pieces: AsyncIterable<string>): AsyncGenerator<RunEvent> {
  let unread = "";
  for await (const piece of pieces) {
    const blocks = (unread + piece).split("\n\n");
    unread = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(block.split("\n").map((line) => splitField(line)));
      const event = fields.get("event");
      if (event === undefined) continue; // a comment, or the reconnection time
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
