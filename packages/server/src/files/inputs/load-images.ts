import { orAborted } from "../../platform/resilience/deadline.ts";
import { faultPoint } from "../../platform/fault-injection.ts";
import { DecodeRefusal, prepareForModel, type DecodeFault, type ImageLimits, type LoadedImage } from "./decode.ts";
import type { DecodingBudget } from "./decoding-budget.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { FilesContext } from "../files-context.ts";
import { IMAGE_BYTES_MAX, RUN_IMAGE_BYTES_MAX } from "./image-inputs.ts";
import type { Refused, StoredImage } from "../stored-file.ts";

export type LoadOutcome = { readonly kind: "loaded"; readonly images: readonly LoadedImage[] } | Refused;

export interface LoadOptions extends ImageLimits {
  /** Fetching and decoding are shared fairly between accounts. */
  readonly accountId: string;
}

/** Ends loading a run's images, with the message for its error item. */
class ImageRefusal extends Error {
  override readonly name = "ImageRefusal";
  /** For operators. */
  readonly detail: string | undefined;
  constructor(message: string, detail?: string) {
    super(message);
    this.detail = detail;
  }
}

/**
 * Fetches all images of a run at once, then decodes them. The first failure rejects the run and stops the other images; if
 * several fail, timing decides which one is named.
 */
export async function loadImages(
  images: readonly StoredImage[],
  options: LoadOptions,
  signal: AbortSignal,
  context: FilesContext,
): Promise<LoadOutcome> {
  signal.throwIfAborted();
  const stopper = new AbortController();
  const either = AbortSignal.any([signal, stopper.signal]);
  let bytesLeft = RUN_IMAGE_BYTES_MAX;
  const fits = (bytes: number) => (bytesLeft -= bytes) >= 0;
  const loading = images.map((image, index) =>
    loadImage({ image, position: index + 1, options, fits }, either, context),
  );
  try {
    return { kind: "loaded", images: await Promise.all(loading) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ImageRefusal) return { kind: "refused", message: error.message, detail: error.detail };
    throw error;
  } finally {
    stopper.abort();
    await Promise.allSettled(loading); // no work for this run continues after the caller has its result
  }
}

/** The most bytes these images have before decoding: known sizes, and the limit for addresses. */
export function imageBytesAtMost(images: readonly StoredImage[]): number {
  const all = images.reduce((sum, image) => sum + (image.type === "file" ? image.bytes : IMAGE_BYTES_MAX), 0);
  return Math.min(all, RUN_IMAGE_BYTES_MAX);
}

interface Task {
  readonly image: StoredImage;
  /** From 1, as callers count. */
  readonly position: number;
  readonly options: LoadOptions;
  /** Whether these bytes fit in the total that all images of the run may have. */
  readonly fits: (bytes: number) => boolean;
}

function loadImage(task: Task, signal: AbortSignal, context: FilesContext): Promise<LoadedImage> {
  const { accountId } = task.options;
  return context.fetching.run(
    async () => {
      const bytes = await readImage(task, signal, context);
      if (!task.fits(bytes.byteLength)) {
        throw new ImageRefusal("The images of this run are larger than 20 MiB in total.");
      }
      await faultPoint("images.after_fetch");
      return decodeImage(task, context.decodingInputs, { bytes, accountId, signal });
    },
    { key: accountId, signal },
  );
}

async function readImage(task: Task, signal: AbortSignal, context: FilesContext): Promise<Buffer> {
  if (task.image.type === "file") return orAborted(readBlob(task.image.fileId, context.blobs), signal);
  const outcome = await context.fetcher.fetch(task.image.url, IMAGE_BYTES_MAX, signal);
  if (outcome.kind === "fetched") return outcome.content;
  context.log.info({ fault: outcome.fault }, "an image input could not be fetched");
  // One message for blocked, refused, timed out, and not found: different messages would reveal what our network can reach.
  const what = outcome.fault === "too-large" ? "is larger than 10 MiB" : "could not be fetched";
  throw new ImageRefusal(
    `The image at position ${task.position} ${what}.`,
    `Image ${task.position}: ${outcome.detail}`,
  );
}

/** A missing stored image is an outage, not the caller's fault: another worker may have the right disk. */
async function readBlob(fileId: string, blobs: BlobStore): Promise<Buffer> {
  const blob = await blobs.get(fileId, null);
  if (blob === null) throw new Error(`The stored image ${fileId} is missing. Do all processes share the blob store?`);
  return Buffer.concat((await blob.body.toArray()) as Buffer[]);
}

const DECODE_FAULTS: Readonly<Record<DecodeFault, string>> = {
  "not-an-image": "is damaged or is not a PNG, JPEG, WebP, or GIF image",
  "too-many-pixels": "is larger than 50 megapixels or 8,192 pixels per side",
  "too-much-memory": "takes too much memory to decode; save it without interlacing and with 8 bits per channel",
  "too-slow": "took too long to decode",
  "too-large": "could not be made small enough for the model",
};

async function decodeImage(
  { options, position }: Task,
  decoding: DecodingBudget,
  job: Parameters<DecodingBudget["run"]>[0],
): Promise<LoadedImage> {
  try {
    return await decoding.run(job, () => prepareForModel(job.bytes, options));
  } catch (error) {
    if (!(error instanceof DecodeRefusal)) throw error;
    throw new ImageRefusal(`The image at position ${position} ${DECODE_FAULTS[error.fault]}.`);
  }
}
