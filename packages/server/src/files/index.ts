export { createFiles, type FilesOptions } from "./create-files.ts";
export { createGuardedFetch, type FetchOutcome, type GuardedFetch } from "./guarded-fetch.ts";
export { checkImageInputs } from "./image-inputs.ts";
export { readPreviousSecrets, readServerSecret } from "./read-secrets.ts";
export { imageBytesAtMost } from "./load-images.ts";
export { createSpool, type Spool, type SpooledFile } from "./spool.ts";
export { isStorageFailure, StorageFailure } from "./storage-failure.ts";
export { collectBytes, takeCounted, TakeFault, type TakeLimits } from "./take-bytes.ts";
export type { Files, KeptFile, LoadedImage, StoredImage } from "./stored-files.ts";
