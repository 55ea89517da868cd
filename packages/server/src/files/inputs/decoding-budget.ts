import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import { estimateDecodedBytes } from "./decode.ts";

const MEBIBYTE = 1_048_576;
/** The heaviest input that is taken, and beside it a light image of another account. */
const BUDGET_BYTES = 352 * MEBIBYTE;
/** What the lightest image weighs: three at once at most, since each takes a thread of the four that file reads need too. */
const WEIGHT_MIN = 96 * MEBIBYTE;

export interface DecodingBudget {
  /** Waits for memory to decode these bytes, then works. @throws DecodeRefusal when their header cannot be read */
  run<Result>(job: DecodingJob, work: () => Promise<Result>): Promise<Result>;
}

interface DecodingJob {
  readonly bytes: Uint8Array;
  readonly accountId: string;
  readonly signal: AbortSignal;
}

/**
 * Bounds the images that are decoded at once by the memory that they need. One image of an account at a time: decoding
 * cannot be interrupted, so what one account has begun would delay the others, however fair the queue is.
 */
export function createDecodingBudget(purpose: "input" | "output"): DecodingBudget {
  const memory = createSemaphore({ permits: BUDGET_BYTES, keyShareMax: WEIGHT_MIN });
  return {
    run: async ({ bytes, accountId, signal }, work) => {
      const weight = Math.max(WEIGHT_MIN, await estimateDecodedBytes(bytes, purpose));
      return memory.run(work, { weight, key: accountId, signal });
    },
  };
}
