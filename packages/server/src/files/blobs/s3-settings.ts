import type { Config } from "../../platform/config/config.ts";
import type { S3Options } from "./s3-client.ts";

/** The bucket that files go to instead of the data directory; null: no bucket is set. */
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
