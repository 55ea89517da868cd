export { createFiles, type FilesOptions } from "./create-files.ts";
export { createGuardedFetch, type FetchOutcome, type GuardedFetch, type GuardedFetchOptions } from "./guarded-fetch.ts";
export { checkImageInputs } from "./image-inputs.ts";
export type { S3Options } from "./s3-request.ts";
export { loadOrCreateSecret, loadPreviousSecret, rotateSecret } from "./server-secret.ts";
export type { Files, GeneratedFile, ImageLimits, KeptFile, LoadedImage, LoadOutcome } from "./stored-files.ts";
export type { PublishedMediaType, Refused, StoredImage } from "./stored-files.ts";
