import type { Readable } from "node:stream";

/** A part of a file as a caller asks for it, before its size is known. Both ends are included. */
export type ByteRange =
  | { readonly kind: "from"; readonly start: number; readonly end: number | null }
  | { readonly kind: "last"; readonly count: number };

/** Begins reading a blob's content from its start. */
export type OpenBody = () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** An opened blob. `part` names its first and last byte when only a range of it follows. */
export interface OpenBlob {
  readonly body: Readable;
  /** Of the whole blob, in bytes. */
  readonly size: number;
  readonly part: { readonly start: number; readonly end: number } | null;
}

/** A file too large for memory, on this machine's disk until it becomes a blob or is discarded. */
export interface SpooledFile {
  readonly path: string;
  readonly bytes: number;
  /** Of all bytes, lower-case hex. */
  readonly sha256: string;
  /** Removes it; does nothing when it has become a blob or was removed before. */
  discard(): Promise<void>;
}

/** Called with the cause when an entry cannot be read or removed. The work goes on with the next entry. */
export type OnSkipped = (cause: unknown) => void;

export interface BlobEntry {
  readonly key: string;
  /** When the store wrote it, by the store's clock. */
  readonly modifiedAtMs: number;
}

/**
 * Stores bytes under one id each. Not content-addressed: sharing would need reference counts and bring delete races,
 * and generated files are never equal. Keys are lower-case UUIDs; anything else is refused.
 */
export interface BlobStore {
  /**
   * Resolves when the bytes survive a power loss. Rejects, and leaves nothing to be read, if `bytes` do not arrive.
   * `open` is called again for every retry.
   */
  put(key: string, open: OpenBody, bytes: number): Promise<void>;
  /** Like `put`, for a spooled file, which is gone afterwards. It stays where it was when this rejects. */
  putFile(key: string, file: SpooledFile): Promise<void>;
  /** Null when there is no such blob. A range that does not fit gives the whole blob. */
  get(key: string, range: ByteRange | null): Promise<OpenBlob | null>;
  /** In bytes; null when there is no such blob. */
  size(key: string): Promise<number | null>;
  /** Deleting a missing blob is not an error: a sweep may be repeated at any point. */
  delete(key: string): Promise<void>;
  /** In no order. A blob written or deleted meanwhile may or may not appear. */
  list(prefix: string, onSkipped: OnSkipped): AsyncIterable<BlobEntry>;
  /** The mark that says whose blobs these are; null when there is none. It is not a blob: no listing shows it. */
  readMark(): Promise<string | null>;
  writeMark(text: string): Promise<void>;
  /** Where an operator finds the mark. */
  readonly markLocation: string;
  /** Removes what interrupted writes begun before that time left behind. */
  discardPartial(beforeMs: number, onSkipped: OnSkipped): Promise<void>;
}

/** Name of the installation mark in a store. */
export const MARK_NAME = "installation";

const KEY = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** False for any other name in a store: a listing skips it, so a sweep never touches it. */
export function isBlobKey(name: string): boolean {
  return KEY.test(name);
}

/** Keys become paths, so the form is checked here as well and not only where they come from. */
export function checkBlobKey(key: string): void {
  if (!isBlobKey(key)) throw new TypeError("A blob key must be a lower-case UUID.");
}

/** First and last byte of the range in a blob of `size` bytes; null when it does not fit. */
export function resolveRange(range: ByteRange, size: number): { readonly start: number; readonly end: number } | null {
  if (range.kind === "last") {
    return range.count === 0 ? null : { start: Math.max(0, size - range.count), end: size - 1 };
  }
  const end = Math.min(range.end ?? size - 1, size - 1);
  return range.start > end ? null : { start: range.start, end };
}

/**
 * The disk or the bucket is not working right now. The run that met it is not at fault: its handler waits, counts no
 * attempt and does not call the model again. The message names no key and no address.
 */
export class StorageFailure extends Error {
  override readonly name = "StorageFailure";
}

/** True for such a failure itself, and for an error of another layer that it caused. */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof StorageFailure || (error instanceof Error && error.cause instanceof StorageFailure);
}
