export interface AdaptiveBatchOptions {
  readonly max: number;
  /** Default: 1. */
  readonly min?: number;
  /** A batch that took less time doubles the size of the next. Absent: every batch that succeeds does. */
  readonly quickMs?: number;
  /** Whether a batch failed because it was too large, usually by a timeout. The next batch is then half as large. */
  readonly isTooLarge?: (error: unknown) => boolean;
}

/** Learns the size of batches that must finish within a time limit: halved on a timeout, doubled when quick. */
export interface AdaptiveBatch {
  readonly size: number;
  grow(): void;
  /** @param tried the size that was too large; default: the current size. */
  shrink(tried?: number): void;
  /** Runs a batch of the current size, or of `limit` if that is smaller. @throws the work's error. */
  run<Result>(work: (size: number) => Promise<Result>, limit?: number): Promise<Result>;
}

export function createAdaptiveBatch(options: AdaptiveBatchOptions): AdaptiveBatch {
  const { max, min = 1, quickMs = Infinity, isTooLarge = () => true } = options;
  let size = max;
  const grow = (): void => {
    size = Math.min(max, 2 * size);
  };
  const shrink = (tried = size): void => {
    size = Math.max(min, Math.ceil(tried / 2));
  };
  return {
    get size() {
      return size;
    },
    grow,
    shrink,
    run: async (work, limit = max) => {
      const tried = Math.min(size, limit);
      const startMs = performance.now();
      try {
        const result = await work(tried);
        if (performance.now() - startMs < quickMs) grow();
        return result;
      } catch (error) {
        if (isTooLarge(error)) shrink(tried);
        throw error;
      }
    },
  };
}
