import type { Run, RunEvent, RunStatus } from "@promptd/contract";

/** The events of one run in order, for a callback and for readers that may start late. */
export interface EventLog {
  add(event: RunEvent): void;
  /** Adds a state, unless it is the last known state. */
  state(runId: string, runStatus: RunStatus): void;
  /** Adds the outputs that no event has shown yet, and the end. */
  finish(run: Run): void;
  /** Adds no more events: readers end, with the error if there is one. */
  end(failure?: Partial<Failure>): void;
  /** All events from the first on. */
  read(): AsyncGenerator<RunEvent, void>;
  /** Whether anyone reads the events. */
  isRead(): boolean;
  lastEventId(): string | null;
}

interface Failure {
  readonly error: unknown;
}

/** @param onWarning receives an error that a listener threw: the run is paid for, and continues. */
export function createEventLog(
  onEvent: ((event: RunEvent) => void) | undefined,
  onWarning: (message: string) => void,
): EventLog {
  const events: RunEvent[] = [];
  const waiting: (() => void)[] = [];
  const shown = new Set<number>();
  let status: RunStatus | null = null;
  let lastEventId: string | null = null;
  let isRead = onEvent !== undefined;
  let ending: Partial<Failure> | null = null;
  const wake = (): void => waiting.splice(0).forEach((resolve) => resolve());
  const add = (event: RunEvent): void => {
    const { event: kind, data } = event;
    if (kind === "status" ? data.runStatus === status : kind === "output" && shown.has(data.index)) return;
    if (kind === "status") status = data.runStatus;
    if (kind === "output") shown.add(data.index);
    if (kind === "text") lastEventId = event.id;
    events.push(event);
    wake();
    try {
      onEvent?.(event);
    } catch (error) {
      onWarning(`onProgress failed: ${String(error)}`);
    }
  };
  const state = (runId: string, runStatus: RunStatus): void => add({ event: "status", data: { runId, runStatus } });
  const isAwaited = (at: number): boolean => at >= events.length && ending === null;
  async function* read(): AsyncGenerator<RunEvent, void> {
    for (let at = 0; ; at += 1) {
      while (isAwaited(at)) await new Promise<void>((resolve) => waiting.push(resolve));
      const event = events[at];
      if (event !== undefined) yield event;
      else if (ending !== null && "error" in ending) throw ending.error;
      else return;
    }
  }
  return {
    add,
    state,
    finish: (run) => {
      state(run.runId, run.runStatus);
      run.outputs.forEach((item, index) => add({ event: "output", data: { ...item, index } }));
      add({ event: "done", data: run });
    },
    end: (failure = {}) => {
      ending = failure;
      wake();
    },
    read: () => {
      isRead = true;
      return read();
    },
    isRead: () => isRead,
    lastEventId: () => lastEventId,
  };
}
