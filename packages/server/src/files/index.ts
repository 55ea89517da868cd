export { createFiles, type FilesOptions } from "./create-files.ts";
export { createGuardedFetch, type FetchOutcome, type GuardedFetch } from "./fetch/guarded-fetch.ts";
export { checkImageInputs } from "./inputs/image-inputs.ts";
export { readPreviousSecrets, readServerSecret } from "./outputs/read-secrets.ts";
export { imageBytesAtMost } from "./inputs/load-images.ts";
export { createSpool, type Spool, type SpooledFile } from "./blobs/spool.ts";
export { isStorageFailure, StorageFailure } from "./blobs/storage-failure.ts";
export { collectBytes, takeCounted, TakeFault, type TakeLimits } from "./fetch/take-bytes.ts";
export type { Files, KeptFile, LoadedImage, StoredImage } from "./stored-file.ts";
