import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import type { Log } from "../platform/log.ts";
import type { Semaphore } from "../platform/resilience/semaphore.ts";
import type { BlobStore } from "./blobs/blob-store.ts";
import type { Spool } from "./blobs/spool.ts";
import type { GuardedFetch } from "./fetch/guarded-fetch.ts";
import type { DecodingBudget } from "./inputs/decoding-budget.ts";
import type { KeyRing } from "./outputs/signed-urls.ts";

/** What the file code of a process works with. */
export interface FilesContext {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly spool: Spool;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly log: Log;
  readonly keys: KeyRing;
  /** Never taken from a request, or a Host header would decide where our addresses lead. Without a trailing slash. */
  readonly publicUrl: () => string;
  /** How long a generated file is available; 86,400 by the specification. */
  readonly ttlSeconds: number;
  readonly fetcher: GuardedFetch;
  /** Limits the images in memory before they are decoded, across all runs of this process, by account. */
  readonly fetching: Semaphore;
  readonly decodingInputs: DecodingBudget;
  readonly decodingOutputs: DecodingBudget;
}
