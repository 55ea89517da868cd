import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import type { Log } from "../platform/log.ts";
import type { Semaphore } from "../platform/resilience/semaphore.ts";
import type { BlobStore } from "./blobs/blob-store.ts";
import type { Spool } from "./blobs/spool.ts";
import type { GuardedFetch } from "./fetch/guarded-fetch.ts";
import type { DecodingBudget } from "./inputs/decoding-budget.ts";
import type { KeyRing } from "./outputs/signed-urls.ts";

/** What the files of a process work with. */
export interface FilesContext {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly spool: Spool;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly log: Log;
  readonly keys: KeyRing;
  /** Never taken from a request: a Host header would decide where our addresses lead. Without a slash at the end. */
  readonly publicUrl: () => string;
  /** Life of a generated file; 86,400 by the specification. */
  readonly ttlSeconds: number;
  readonly fetcher: GuardedFetch;
  /** Limits the images in memory before they are decoded, over all runs of this process; by account. */
  readonly fetching: Semaphore;
  readonly decodingInputs: DecodingBudget;
  readonly decodingOutputs: DecodingBudget;
}
