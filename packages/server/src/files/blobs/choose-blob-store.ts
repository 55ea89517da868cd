import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { BlobStore } from "./blob-store.ts";
import { createDiskBlobs } from "./disk-blobs.ts";
import { createS3Blobs } from "./s3-blobs.ts";
import type { S3Options } from "./s3-client.ts";

export interface BlobStoreOptions {
  /** Blobs go to `files` below it unless there is a bucket. All API and worker processes must share it. */
  readonly dataDir: string;
  /** Blobs go to this bucket instead. */
  readonly bucket?: S3Options | null;
  readonly clock: Clock;
}

/** Where the bytes of files are. */
export async function chooseBlobStore({ dataDir, bucket, clock }: BlobStoreOptions): Promise<BlobStore> {
  return bucket ? createS3Blobs(bucket, clock) : createDiskBlobs(join(dataDir, "files"));
}
