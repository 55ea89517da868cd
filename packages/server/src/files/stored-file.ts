/** Media types that this service publishes, with their file extensions in addresses. */
export const EXTENSIONS = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "video/mp4": "mp4",
  "video/webm": "webm",
} as const;
export type PublishedMediaType = keyof typeof EXTENSIONS;

/** An image input as stored in the run's row: JSON-safe, without the bytes. */
export type StoredImage =
  | { readonly type: "url"; readonly url: string }
  | {
      readonly type: "file";
      readonly fileId: string;
      readonly bytes: number;
      readonly mediaType: string;
      /** Of the decoded bytes, in lowercase hex. */
      readonly sha256: string;
    };

/** A generated file whose bytes are durable; it becomes public when `recordOutputs` has committed. */
export interface StoredFile {
  readonly kind: "stored";
  readonly fileId: string;
  /** Signed address, valid until `expiresAtMs`. It never changes, and reading the file never extends it. */
  readonly url: string;
  readonly bytes: number;
  readonly mediaType: PublishedMediaType;
  readonly sha256: string;
  readonly keyId: number;
  readonly generatedAtMs: number;
  readonly expiresAtMs: number;
}

/** `message` is the text of the error item; it never says why an address could not be fetched. */
export interface Refused {
  readonly kind: "refused";
  readonly message: string;
  /** The reason, for operators only. */
  readonly detail?: string | undefined;
}
