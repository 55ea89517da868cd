import type { Run, RunEvent, RunStatus } from "@promptd/contract";

/** The events of one run in order, for a callback and for readers who may begin late. */
export interface EventLog {
  add(event: RunEvent): void;
  /** A state, unless it is the last one known. */
  state(runId: string, runStatus: RunStatus): void;
  /** The outputs that no event has shown yet, and the end. */
  finish(run: Run): void;
  /** No more events: readers end. */
  end(): void;
  /** Readers get this error. */
  fail(reason: unknown): void;
  /** All events from the first on. */
  read(): AsyncGenerator<RunEvent, void>;
  /** Whether anybody wants events. */
  isRead(): boolean;
  lastEventId(): string | null;
}

type Listener = (event: RunEvent) => void;

/** @param onWarning is told what a listener has thrown: the run has been paid for, and goes on. */
export function createEventLog(onEvent: Listener | undefined, onWarning: (message: string) => void): EventLog {
  const events: RunEvent[] = [];
  let status: RunStatus | null = null;
  let lastEventId: string | null = null;
  let isRead = onEvent !== undefined;
  let ending: Promise<void> | null = null;
  let wake = (): void => {};
  let woken = new Promise<void>((resolve) => (wake = resolve));
  const wakeAll = (): void => {
    wake();
    woken = new Promise((resolve) => (wake = resolve));
  };
  const add = (event: RunEvent): void => {
    if (event.event === "status") {
      if (event.data.runStatus === status) return;
      status = event.data.runStatus;
    }
    if (event.event === "text") lastEventId = event.id;
    if (event.event === "output" && hasOutput(event.data.index)) return;
    events.push(event);
    wakeAll();
    call(event);
  };
  const call = (event: RunEvent): void => {
    try {
      onEvent?.(event);
    } catch (error) {
      onWarning(`onProgress has failed: ${String(error)}`);
    }
  };
  const hasOutput = (index: number) => events.some(({ event, data }) => event === "output" && data.index === index);
  const end = (how: Promise<void>): void => {
    how.catch(() => {}); // there may be no reader
    ending = how;
    wakeAll();
  };
  const fail = (reason: unknown): void => {
    const failed: Promise<void> = Promise.reject(reason);
    end(failed);
  };
  const isAwaited = (at: number): boolean => at >= events.length && ending === null;
  async function* read(): AsyncGenerator<RunEvent, void> {
    for (let at = 0; ; at += 1) {
      while (isAwaited(at)) await woken;
      const event = events[at];
      if (event === undefined) return ending ?? undefined;
      yield event;
    }
  }
  return {
    add,
    state: (runId, runStatus) => add({ event: "status", data: { runId, runStatus } }),
    finish: (run) => {
      add({ event: "status", data: { runId: run.runId, runStatus: run.runStatus } });
      for (const [index, item] of run.outputs.entries()) add({ event: "output", data: { ...item, index } });
      add({ event: "done", data: run });
    },
    end: () => end(Promise.resolve()),
    fail,
    read: () => {
      isRead = true;
      return read();
    },
    isRead: () => isRead,
    lastEventId: () => lastEventId,
  };
}
