import { orAborted, withDeadline } from "./deadline.ts";

/** Closes what was opened, in reverse order: at shutdown, or partway through a startup that fails. */
export interface Closers {
  /** After `run`, it closes the part at once: when parts open in parallel, one may fail while another is still opening. */
  add(close: () => Promise<unknown>): void;
  /** Closes everything, whatever fails on the way. @throws the first failure. */
  run(): Promise<void>;
}

/** Longer than any part needs: the server's last responses get 15 s. A part that hangs, such as an index build, ends with the process. */
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
