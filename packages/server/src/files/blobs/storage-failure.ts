/**
 * The disk or the bucket does not do its work now. Nothing is wrong with the run that met it: whoever catches this
 * waits, and neither counts an attempt nor calls a model again. Its text names no key and no address.
 */
export class StorageFailure extends Error {
  override readonly name = "StorageFailure";
}

/** True for such a failure itself, and for one that another layer's error was made of. */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof StorageFailure || (error instanceof Error && error.cause instanceof StorageFailure);
}
