export interface AdaptiveBatchOptions {
  readonly max: number;
  /** 1 if not given. */
  readonly min?: number;
  /** A batch that took less lets the next one be twice as large. Without it any batch that succeeds does. */
  readonly quickMs?: number;
  /** Whether a batch failed because it was too large: a timeout, mostly. Then the next one is half as large. */
  readonly isTooLarge?: (error: unknown) => boolean;
}

/** The size of batches of work that must end within a time limit, learned: halved on a timeout, doubled when quick. */
export interface AdaptiveBatch {
  readonly size: number;
  grow(): void;
  /** @param tried the size that was too large; by default the present one. */
  shrink(tried?: number): void;
  /** Does a batch of the present size, or of `limit` if that is smaller. @throws the work's error. */
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
