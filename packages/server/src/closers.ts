import { orAborted, withDeadline } from "./platform/resilience/deadline.ts";

/** What was opened, to be closed in the opposite order: at the end, or half-way through a start that fails. */
export interface Closers {
  add(close: () => Promise<unknown>): void;
  /** Closes everything, whatever fails on the way. @throws the first failure. */
  run(): Promise<void>;
}

/** Longer than any part needs: the server's last answers have 15 s. What hangs, such as an index that is built, ends with the process. */
const PART_MS = 20_000;

export function createClosers({ partMs }: { readonly partMs: number } = { partMs: PART_MS }): Closers {
  const steps: (() => Promise<unknown>)[] = [];
  const error = () => new Error(`A part did not close within ${partMs / 1_000} s.`);
  return {
    add: (close) => void steps.push(close),
    run: async () => {
      const failures: unknown[] = [];
      for (let close = steps.pop(); close !== undefined; close = steps.pop()) {
        await withDeadline(partMs, (signal) => orAborted(close(), signal), { error }).catch((cause: unknown) =>
          failures.push(cause),
        );
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
