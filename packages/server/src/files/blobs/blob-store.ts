import type { Readable } from "node:stream";

/** A requested part of a file, before the file size is known. Both ends are inclusive. */
export type ByteRange =
  | { readonly kind: "from"; readonly start: number; readonly end: number | null }
  | { readonly kind: "last"; readonly count: number };

/** Starts reading a blob's content from the beginning. */
export type OpenBody = () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** An opened blob. If only a range follows, `part` has its first and last byte. */
export interface OpenBlob {
  readonly body: Readable;
  /** Of the whole blob, in bytes. */
  readonly size: number;
  readonly part: { readonly start: number; readonly end: number } | null;
}

/** A file too large for memory, kept on this machine's disk until it becomes a blob or is discarded. */
export interface SpooledFile {
  readonly path: string;
  readonly bytes: number;
  /** Of all bytes, in lowercase hex. */
  readonly sha256: string;
  /** Removes the file; does nothing if it became a blob or was already removed. */
  discard(): Promise<void>;
}

/** Called with the cause if an entry cannot be read or removed. Work continues with the next entry. */
export type OnSkipped = (cause: unknown) => void;

export interface BlobEntry {
  readonly key: string;
  /** When it was written, by the store's clock. */
  readonly modifiedAtMs: number;
}

/**
 * Stores bytes, each blob under its own id. Not content-addressed: sharing would need reference counts and cause delete
 * races, and generated files are never equal. Keys are lowercase UUIDs; anything else is rejected.
 */
export interface BlobStore {
  /**
   * Resolves once the bytes would survive a power loss. If the content is not exactly `bytes` long, rejects and leaves
   * nothing readable. `open` is called again for every retry.
   */
  put(key: string, open: OpenBody, bytes: number): Promise<void>;
  /** Like `put`, for a spooled file, which no longer exists afterwards. If this rejects, the file stays where it was. */
  putFile(key: string, file: SpooledFile): Promise<void>;
  /** Null if the blob does not exist. A range that does not fit returns the whole blob. */
  get(key: string, range: ByteRange | null): Promise<OpenBlob | null>;
  /** In bytes; null if the blob does not exist. */
  size(key: string): Promise<number | null>;
  /** Deleting a missing blob is not an error, since a sweep may be repeated at any point. */
  delete(key: string): Promise<void>;
  /** Lists blobs in no particular order. Blobs written or deleted meanwhile may or may not appear. */
  list(prefix: string, onSkipped: OnSkipped): AsyncIterable<BlobEntry>;
  /** The mark that says which installation owns these blobs; null if there is none. It is not a blob and is never listed. */
  readMark(): Promise<string | null>;
  writeMark(text: string): Promise<void>;
  /** Where an operator can find the mark. */
  readonly markLocation: string;
  /** Removes leftovers of interrupted writes that began before that time. */
  discardPartial(beforeMs: number, onSkipped: OnSkipped): Promise<void>;
}

/** Name of the installation mark in a store. */
export const MARK_NAME = "installation";

const KEY = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** False for any other name in a store: listings skip it, so a sweep never touches it. */
export function isBlobKey(name: string): boolean {
  return KEY.test(name);
}

/** Keys become paths, so their format is checked here too, not only at their source. */
export function checkBlobKey(key: string): void {
  if (!isBlobKey(key)) throw new TypeError("A blob key must be a lowercase UUID.");
}

/** Returns the first and last byte of a range in a blob of `size` bytes; null if it does not fit. */
export function resolveRange(range: ByteRange, size: number): { readonly start: number; readonly end: number } | null {
  if (range.kind === "last") {
    return range.count === 0 ? null : { start: Math.max(0, size - range.count), end: size - 1 };
  }
  const end = Math.min(range.end ?? size - 1, size - 1);
  return range.start > end ? null : { start: range.start, end };
}

/**
 * The disk or the bucket is not working right now. That is not the run's fault: its handler waits, counts no attempt, and
 * does not call the model again. The message never contains a key or an address.
 */
export class StorageFailure extends Error {
  override readonly name = "StorageFailure";
}

/** True for a StorageFailure, and for another layer's error caused by one. */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof StorageFailure || (error instanceof Error && error.cause instanceof StorageFailure);
}
