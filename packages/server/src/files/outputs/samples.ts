/**
 * Pictures and videos that authors show as examples of what their prompts make. Each is a separate file, since files of
 * runs expire. It is removed when it is replaced, or with its prompt or account. Its address is signed each time it is shown.
 */
import { createHash } from "node:crypto";
import type { Tx } from "../../platform/database/database.ts";
import { orAborted } from "../../platform/resilience/deadline.ts";
import type { FilesContext } from "../files-context.ts";
import { expireNow, insertSample } from "../files-store.ts";
import { DecodeRefusal, encodeSample } from "../inputs/decode.ts";
import type { PublishedMediaType, Refused } from "../stored-file.ts";
import { fileOf, signedPath } from "./signed-urls.ts";
import { putBytes, type PutFile } from "./store-outputs.ts";

/** A sample whose bytes are durable. It is in use once a transaction has recorded it. */
type StoredSample = PutFile & { readonly kind: "stored" };

export type SampleFile = Pick<StoredSample, "fileId" | "mediaType">;

export interface Samples {
  /**
   * Copies a generated file: a picture is decoded, re-encoded, and shrunk for pages; a video is copied unchanged.
   * Rejects if aborted, and with a StorageFailure. @param url the file's address in the run.
   */
  take(
    file: { readonly url: string; readonly accountId: string },
    signal: AbortSignal,
  ): Promise<StoredSample | Refused>;
  /** Call this in the transaction that shows the sample. */
  record(tx: Tx, owner: { readonly accountId: string; readonly runId: string }, sample: StoredSample): Promise<void>;
  /** An address for pages, valid today and tomorrow. */
  readonly urlOf: (file: SampleFile) => string;
  /** Call this in the transaction that stops showing the sample. The next sweeps remove its bytes. */
  readonly release: (tx: Tx, fileId: string) => Promise<void>;
}

const DAY_SECONDS = 86_400;
/** Pages load the beginning of each video, and all of it when it is played. About 16 seconds of 1080p. */
const VIDEO_BYTES_MAX = 20 * 1_048_576;
const GONE = "The file of this run has expired. Run the prompt again and use the new run.";
const UNREADABLE = "The picture of this run cannot be read.";
const TOO_LARGE = "The video of this run is larger than 20 MiB. Choose a run with a shorter or smaller video.";

export function createSamples(context: FilesContext): Samples {
  const { clock, keys, publicUrl } = context;
  return {
    take: async ({ url, accountId }, signal) => {
      const made = fileOf(url);
      const size = made === null ? null : await orAborted(context.blobs.size(made.fileId), signal);
      if (made === null || size === null) return { kind: "refused", message: GONE };
      if (!made.mediaType.startsWith("video/")) return takePicture({ fileId: made.fileId, accountId }, signal, context);
      if (size > VIDEO_BYTES_MAX) return { kind: "refused", message: TOO_LARGE };
      return copyVideo({ ...made, size }, signal, context);
    },
    record: insertSample,
    release: expireNow,
    urlOf: ({ fileId, mediaType }) => {
      // The same all day, so that browsers load it once; after removal it can be read until tomorrow at the latest.
      const today = Math.floor(clock.nowMs() / 1_000 / DAY_SECONDS);
      const expiresAt = (today + 2) * DAY_SECONDS;
      return publicUrl() + signedPath({ fileId, mediaType, expiresAt }, keys.current);
    },
  };
}

async function takePicture(
  made: { readonly fileId: string; readonly accountId: string },
  signal: AbortSignal,
  context: FilesContext,
): Promise<StoredSample | Refused> {
  const blob = await orAborted(context.blobs.get(made.fileId, null), signal);
  if (blob === null) return { kind: "refused", message: GONE };
  const bytes = Buffer.concat((await orAborted(blob.body.toArray(), signal)) as Buffer[]);
  try {
    const { accountId } = made;
    const encoded = await context.decodingInputs.run({ bytes, accountId, signal }, () => encodeSample(bytes));
    const file = await orAborted(putBytes(encoded.bytes, encoded.mediaType, context), signal);
    return { kind: "stored", ...file };
  } catch (error) {
    if (!(error instanceof DecodeRefusal)) throw error;
    return { kind: "refused", message: UNREADABLE };
  }
}

/** Videos are not decoded here: their bytes were checked when the run stored them. They are never completely in memory. */
async function copyVideo(
  made: { readonly fileId: string; readonly mediaType: PublishedMediaType; readonly size: number },
  signal: AbortSignal,
  { blobs, newId }: FilesContext,
): Promise<StoredSample> {
  let hash = createHash("sha256");
  async function* copy(): AsyncGenerator<Uint8Array> {
    hash = createHash("sha256"); // a retry starts over
    const blob = await blobs.get(made.fileId, null);
    if (blob === null) throw new Error("The bytes of a video were removed while they were being copied.");
    for await (const chunk of blob.body as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const fileId = newId();
  await orAborted(blobs.put(fileId, copy, made.size), signal);
  return { kind: "stored", fileId, bytes: made.size, mediaType: made.mediaType, sha256: hash.digest("hex") };
}
