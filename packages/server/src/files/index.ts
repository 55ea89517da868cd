export { createFiles, type FilesOptions } from "./create-files.ts";
export { createGuardedFetch, type GuardedFetch } from "./guarded-fetch.ts";
export { checkImageInputs } from "./image-inputs.ts";
export { loadOrCreateSecret, loadPreviousSecret } from "./server-secret.ts";
export type { Files, KeptFile, LoadedImage, StoredImage } from "./stored-files.ts";
