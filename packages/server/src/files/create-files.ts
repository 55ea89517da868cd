import { join } from "node:path";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import { createGate } from "../platform/resilience/semaphore.ts";
import type { Log } from "../platform/log.ts";
import { outlast } from "../platform/database/outlast.ts";
import { createDiskBlobs } from "./blobs/disk-blobs.ts";
import { registerFileKeys } from "./outputs/file-keys.ts";
import { insertInputs, insertOutputs } from "./files-store.ts";
import { createGuardedFetch, type GuardedFetchOptions } from "./fetch/guarded-fetch.ts";
import { discardInputImages, keepInputImages, keepOutput } from "./outputs/store-outputs.ts";
import { loadImages } from "./inputs/load-images.ts";
import { createOpenFile } from "./outputs/open-file.ts";
import { createS3Blobs } from "./blobs/s3-blobs.ts";
import type { S3Options } from "./blobs/s3-request.ts";
import type { SecretReadings } from "./outputs/server-secret.ts";
import type { Files } from "./stored-file.ts";
import { createSpool } from "./blobs/spool.ts";
import { createSweeps } from "./outputs/sweep.ts";
import { watchStorage } from "./blobs/watched-blobs.ts";

export interface FilesOptions {
  readonly db: Database;
  /** Blobs go to `files` below it unless there is a bucket. All API and worker processes must share it. */
  readonly dataDir: string;
  /** Blobs go to this bucket instead. */
  readonly bucket?: S3Options | null;
  /** Address callers reach the service under, without a slash at the end. */
  readonly publicUrl: () => string;
  /** Life of a generated file; 86,400 by the specification. */
  readonly ttlSeconds: number;
  /** The server secret; the same in all processes on one database. */
  readonly secret: SecretReadings;
  /** What may be the secret before a rotation. */
  readonly previousSecrets?: readonly Buffer[];
  readonly clock: Clock;
  readonly newId: () => string;
  readonly log: Log;
  /** For tests: another network. No setting leads here. */
  readonly fetch?: GuardedFetchOptions;
}

/** Of 10 MiB at most each, so 320 MiB in the worst case; hosts that only trickle hold a place for 15 s at most. */
const FETCHES_AT_ONCE = 32;
/** A 12-megapixel image takes 126 ms and a thread of the pool that file reads need too (measured 2026-11). */
const DECODES_AT_ONCE = 2;

/** @throws Error when the secret is not the one this database knows. */
export async function createFiles(options: FilesOptions): Promise<Files> {
  const { db, clock, log, newId, ttlSeconds, publicUrl } = options;
  const secrets = { current: options.secret, previous: options.previousSecrets ?? [] };
  const [store, keys] = await Promise.all([
    options.bucket ? createS3Blobs(options.bucket, clock) : createDiskBlobs(join(options.dataDir, "files")),
    outlast(() => registerFileKeys(db, secrets, ttlSeconds)),
  ]);
  const storage = watchStorage(store, createSpool(join(options.dataDir, "files", "incoming")), {
    newId,
    log,
    monotonicMs: () => performance.now(),
  });
  const { blobs, spool } = storage;
  const decoding = createGate(DECODES_AT_ONCE);
  const fetching = createGate(FETCHES_AT_ONCE);
  const keepPorts = { blobs, newId, clock, decoding, log, keys, ttlSeconds, publicUrl };
  const loadPorts = { blobs, fetcher: createGuardedFetch(options.fetch), fetching, decoding, log };
  return {
    keepInputImages: (images) => keepInputImages(images, keepPorts),
    discardInputImages: (images) => discardInputImages(images, keepPorts),
    recordInputs: async (tx, owner, images) => {
      const files = images.filter((image) => image.type === "file");
      if (files.length > 0) await insertInputs(tx, owner, files);
    },
    loadImages: (images, limits, signal) => loadImages(images, limits, signal, loadPorts),
    keepOutput: (output, signal) => keepOutput(output, signal, keepPorts),
    recordOutputs: async (tx, owner, files) => {
      if (files.length > 0) await insertOutputs(tx, owner, files);
    },
    isReady: () => storage.isReady(),
    spool,
    openFile: createOpenFile({ blobs, keys, clock, ttlSeconds }),
    ticks: createSweeps({ db, blobs, spool, clock, newId, log }),
  };
}
