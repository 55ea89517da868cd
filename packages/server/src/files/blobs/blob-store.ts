import type { Readable } from "node:stream";
import type { SpooledFile } from "./spool.ts";

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

/** Told of what could not be looked at or removed: the rest is done all the same. */
export type OnSkipped = (cause: unknown) => void;

export interface BlobEntry {
  readonly key: string;
  /** When the store wrote it, by the store's clock. */
  readonly modifiedAtMs: number;
}

/**
 * Where bytes live, under one id each. Not addressed by content: sharing would need a reference count and a delete
 * race would come with it, and generated files are never equal. Keys are lower-case UUIDs; anything else is refused.
 */
export interface BlobStore {
  /**
   * Resolves when the bytes survive a power loss. Rejects, and leaves nothing to be read, if `bytes` do not arrive.
   * `open` is called again when a store that failed is tried once more.
   */
  put(key: string, open: OpenBody, bytes: number): Promise<void>;
  /** As `put`, of a spooled file, which is gone afterwards. It stays where it was when this rejects. */
  putFile(key: string, file: SpooledFile): Promise<void>;
  /** Null when there is no such blob. A range that does not fit gives the whole blob. */
  get(key: string, range: ByteRange | null): Promise<OpenBlob | null>;
  /** In bytes; null when there is no such blob. */
  size(key: string): Promise<number | null>;
  /** Deleting what is not there is no error: a sweep may be repeated at any point. */
  delete(key: string): Promise<void>;
  /** In no order. A blob written or deleted meanwhile may or may not appear. */
  list(prefix: string, onSkipped: OnSkipped): AsyncIterable<BlobEntry>;
  /** The note that says whose blobs these are; null when there is none. It is no blob: no listing shows it. */
  readMark(): Promise<string | null>;
  writeMark(text: string): Promise<void>;
  /** Where an operator finds the mark. */
  readonly markPlace: string;
  /** Removes what interrupted writes begun before that time left behind. */
  discardPartial(beforeMs: number, onSkipped: OnSkipped): Promise<void>;
}

/** Name of the mark in a store. */
export const MARK = "installation";

const KEY = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** False for whatever else lies in a store: a listing passes over it, so a sweep never touches it. */
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
