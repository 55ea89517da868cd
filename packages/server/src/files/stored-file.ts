import type { ImageInput } from "@promptd/contract";
import type { OpenFile } from "../http/endpoint.ts";
import type { Tx } from "../platform/database/database.ts";
import type { Tick } from "../platform/ticks.ts";
import type { Spool, SpooledFile } from "./blobs/spool.ts";

/** Media types that this service publishes, with the one file name ending each of them has in an address. */
export const EXTENSIONS = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "video/mp4": "mp4",
  "video/webm": "webm",
} as const;
export type PublishedMediaType = keyof typeof EXTENSIONS;

/** An image input as the run's row keeps it: JSON-safe, without the bytes. */
export type StoredImage =
  | { readonly type: "url"; readonly url: string }
  | {
      readonly type: "file";
      readonly fileId: string;
      readonly bytes: number;
      readonly mediaType: string;
      /** Of the decoded bytes, lower-case hex. */
      readonly sha256: string;
    };

/** An image ready for a model: turned upright, sRGB, 8 bit, without metadata, inside the model's limits. */
export interface LoadedImage {
  readonly bytes: Uint8Array;
  readonly mediaType: "image/png" | "image/jpeg";
}

/** What one model takes; the service's own ceiling of 2,048 pixels a side applies as well. */
export interface ImageLimits {
  readonly bytesMax: number;
  readonly sideMax: number;
}

/** `message` is the sentence of the error item; it never says why an address could not be fetched. */
export interface Refused {
  readonly kind: "refused";
  readonly message: string;
}

export type LoadOutcome = { readonly kind: "loaded"; readonly images: readonly LoadedImage[] } | Refused;

/** A generated file whose bytes are durable; it becomes public when `recordOutputs` has committed. */
export interface KeptFile {
  readonly kind: "kept";
  readonly fileId: string;
  /** Signed address, valid until `expiresAtMs`; it never changes and reading it never extends it. */
  readonly url: string;
  readonly bytes: number;
  readonly mediaType: PublishedMediaType;
  readonly sha256: string;
  readonly keyId: number;
  readonly generatedAtMs: number;
  readonly expiresAtMs: number;
}

/** What a model delivered, exactly as it came. A video that was fetched is on disk. */
export type GeneratedFile =
  | { readonly modality: "image"; readonly bytes: Uint8Array; readonly mediaType: string }
  | { readonly modality: "video"; readonly content: Uint8Array | SpooledFile; readonly mediaType: string };

export interface Files {
  /**
   * Makes Base64 images durable before the run exists; addresses stay addresses.
   * Expects images that `checkImageInputs` found no issue in. Those it has kept when one cannot be stored are removed.
   */
  keepInputImages(images: readonly ImageInput[]): Promise<StoredImage[]>;
  /**
   * For a run of which it is certain that it was not created. In the background; what cannot be removed is left to the
   * sweeper, as are the bytes of a run whose fate nobody knows.
   */
  discardInputImages(images: readonly StoredImage[]): void;
  /** Inside the transaction that creates the run. The bytes are removed an hour after the run's deadline. */
  recordInputs(
    tx: Tx,
    owner: { readonly accountId: string; readonly runId: string; readonly deadlineSeconds: number },
    images: readonly StoredImage[],
  ): Promise<void>;
  /** Fetches, decodes and fits the images of a run, in order. Rejects when aborted, and with a StorageFailure. */
  loadImages(images: readonly StoredImage[], limits: ImageLimits, signal: AbortSignal): Promise<LoadOutcome>;
  /**
   * Decodes and encodes an image again, checks a video, and makes the result durable. A spooled file is gone then.
   * Rejects when aborted, and with a StorageFailure: an image may then be given once more.
   */
  keepOutput(output: GeneratedFile, signal: AbortSignal): Promise<KeptFile | Refused>;
  /** Inside the transaction that finishes the run. */
  recordOutputs(
    tx: Tx,
    owner: { readonly accountId: string; readonly runId: string; readonly attempt: number },
    files: readonly KeptFile[],
  ): Promise<void>;
  /** False while the disk or the bucket takes no writes: then no model is asked for a file. */
  isReady(): Promise<boolean>;
  /** For what is too large to be held until `keepOutput` takes it. */
  readonly spool: Spool;
  openFile: OpenFile;
  readonly ticks: readonly Tick[];
}
