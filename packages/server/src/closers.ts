import { orAborted, withDeadline } from "./platform/resilience/deadline.ts";

/** What was opened, to be closed in the opposite order: at the end, or half-way through a start that fails. */
export interface Closers {
  /** After `run` it closes at once: of what is opened side by side, one may fail while another is still being opened. */
  add(close: () => Promise<unknown>): void;
  /** Closes everything, whatever fails on the way. @throws the first failure. */
  run(): Promise<void>;
}

/** Longer than any part needs: the server's last answers have 15 s. What hangs, such as an index that is built, ends with the process. */
const PART_MS = 20_000;

export function createClosers({ partMs }: { readonly partMs: number } = { partMs: PART_MS }): Closers {
  const steps: (() => Promise<unknown>)[] = [];
  let hasRun = false;
  const error = () => new Error(`A part did not close within ${partMs / 1_000} s.`);
  return {
    add: (close) => {
      if (hasRun) void close().catch(() => {});
      else steps.push(close);
    },
    run: async () => {
      const failures: unknown[] = [];
      for (let close = steps.pop(); close !== undefined; close = steps.pop()) {
        await withDeadline(partMs, (signal) => orAborted(close(), signal), { error }).catch((cause: unknown) =>
          failures.push(cause),
        );
      }
      hasRun = true;
      if (failures.length > 0) throw failures[0];
    },
  };
}
