/** What was opened, to be closed in the opposite order: at the end, or half-way through a start that fails. */
export interface Closers {
  add(close: () => Promise<unknown>): void;
  /** Closes everything, whatever fails on the way. @throws the first failure. */
  run(): Promise<void>;
}

export function createClosers(): Closers {
  const steps: (() => Promise<unknown>)[] = [];
  return {
    add: (close) => void steps.push(close),
    run: async () => {
      const failures: unknown[] = [];
      for (let close = steps.pop(); close !== undefined; close = steps.pop()) {
        await close().catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
