import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import { estimateDecodedBytes } from "./decode.ts";

const MEBIBYTE = 1_048_576;
/** Room for the heaviest accepted input, plus a light image of another account. */
const BUDGET_BYTES = 352 * MEBIBYTE;
/** The least weight of an image: at most three at once, since each uses one of the four threads that file reads also need. */
const WEIGHT_MIN = 96 * MEBIBYTE;

export interface DecodingBudget {
  /** Waits for memory to decode these bytes, then runs `work`. @throws DecodeRefusal if their header cannot be read */
  run<Result>(job: DecodingJob, work: () => Promise<Result>): Promise<Result>;
}

interface DecodingJob {
  readonly bytes: Uint8Array;
  readonly accountId: string;
  readonly signal: AbortSignal;
}

/**
 * Bounds concurrent decoding by the memory it needs. Each account decodes one image at a time: decoding cannot be
 * interrupted, so one account's images would delay the others, however fair the queue is.
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
