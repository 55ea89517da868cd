/**
 * A run as a stream of server-sent events: its state, its text while a model writes it, and its end. The text is a
 * preview; the final event carries the complete result.
 */
import type { Run, RunStatus } from "@promptd/contract";
import type { StoredPiece } from "../run-events-store.ts";
import { isFinal } from "../run-state.ts";
import type { Follower } from "./run-followers.ts";
import type { Wait } from "./wait-for-run.ts";

/** Proxies close connections that are silent for longer, usually 30 s. */
const KEEP_ALIVE_MS = 10_000;
const RECONNECT_MS = 1_000;

/** `wait` returns null when the server stops; the caller's client then reconnects to another process. */
export async function* runEvents(run: Run, wait: Wait, follower: Follower): AsyncGenerator<string, void, void> {
  yield `retry: ${RECONNECT_MS}\n\n${statusEvent(run)}`;
  const over = new AbortController();
  if (isFinal(run.runStatus)) over.abort();
  void wait.finished.then(() => {
    over.abort();
    return follower.interrupt();
  });
  /** By output: late pieces from an earlier call, by a worker that lost the run, are discarded. */
  const calls = new Map<number, number>();
  while (!over.signal.aborted) {
    const news = await follower.next(KEEP_ALIVE_MS);
    if (news === null && !over.signal.aborted) yield ": keep-alive\n\n";
    if (news === null) continue;
    const pieces = news.pieces.filter(({ output, call }) => call >= (calls.get(output) ?? 0));
    for (const { output, call } of pieces) calls.set(output, call);
    const status = news.status === null || isFinal(news.status) ? "" : statusEvent({ ...run, runStatus: news.status });
    const text = status + pieces.map(textEvent).join("");
    if (text !== "") yield text;
  }
  const end = isFinal(run.runStatus) ? run : await wait.finished;
  if (end === null) return;
  if (end !== run) yield statusEvent(end);
  for (const [index, output] of end.outputs.entries()) yield event("output", { index, ...output });
  yield event("done", end);
}

function statusEvent({ runId, runStatus }: { readonly runId: string; readonly runStatus: RunStatus }): string {
  return event("status", { runId, runStatus });
}

function textEvent({ id, output, call, text }: StoredPiece): string {
  return event("text", { index: output, call, text }, id);
}

function event(name: string, data: unknown, id?: string): string {
  return `event: ${name}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}
