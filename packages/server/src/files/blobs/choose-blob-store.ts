import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Config } from "../../platform/config/config.ts";
import type { BlobStore } from "./blob-store.ts";
import { createDiskBlobs } from "./disk-blobs.ts";
import { createS3Blobs } from "./s3-blobs.ts";
import type { S3Options } from "./s3-client.ts";

export interface BlobStoreOptions {
  /** Blobs go to its `files` subdirectory unless there is a bucket. All API and worker processes must share it. */
  readonly dataDir: string;
  /** If set, blobs go to this bucket instead. */
  readonly bucket?: S3Options | null;
  readonly clock: Clock;
}

/** Opens the store for the bytes of files. */
export async function chooseBlobStore({ dataDir, bucket, clock }: BlobStoreOptions): Promise<BlobStore> {
  return bucket ? createS3Blobs(bucket, clock) : createDiskBlobs(join(dataDir, "files"));
}

/** Reads the settings of the bucket to use instead of the data directory; null: none is set. */
export function readBucket(config: Config): S3Options | null {
  const { PROMPTD_S3_BUCKET: bucket, PROMPTD_S3_ENDPOINT: endpoint, secret } = config;
  if (bucket === null || endpoint === null) return null;
  return {
    endpoint,
    bucket,
    region: config.PROMPTD_S3_REGION,
    prefix: config.PROMPTD_S3_PREFIX,
    accessKeyId: secret("AWS_ACCESS_KEY_ID") ?? "",
    secretAccessKey: secret("AWS_SECRET_ACCESS_KEY") ?? "",
  };
}
