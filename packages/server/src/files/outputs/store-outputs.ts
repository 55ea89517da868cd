import { createHash } from "node:crypto";
import { open as openPath } from "node:fs/promises";
import { orAborted } from "../../platform/resilience/deadline.ts";
import type { SpooledFile } from "../blobs/blob-store.ts";
import type { FilesContext } from "../files-context.ts";
import { DecodeRefusal, encodeOutput, type DecodeFault } from "../inputs/decode.ts";
import { findVideoType, VIDEO_HEAD_BYTES } from "../inputs/media-signature.ts";
import type { PublishedMediaType, Refused, StoredFile } from "../stored-file.ts";
import { signedPath } from "./signed-urls.ts";

/** A model's file, exactly as received. A fetched video is on disk. */
export type GeneratedFile =
  | {
      readonly modality: "image";
      readonly accountId: string;
      readonly bytes: Uint8Array;
      readonly mediaType: string;
    }
  | { readonly modality: "video"; readonly content: Uint8Array | SpooledFile; readonly mediaType: string };

/** A file whose bytes are durable. */
export type PutFile = Pick<StoredFile, "fileId" | "bytes" | "mediaType" | "sha256">;

const VIDEO_BYTES_MAX = 209_715_200; // 200 MiB

/** Error items never contain what a provider sent; a caller learns only these sentences. */
const OUTPUT_FAULTS: Readonly<Record<DecodeFault, string>> = {
  "not-an-image": "The model returned an image that cannot be read.",
  "too-many-pixels": "The model returned an image that is too large.",
  "too-much-memory": "The model returned an image that is too large.",
  "too-slow": "The model returned an image that cannot be read.",
  "too-large": "The model returned an image that is too large.",
};

export async function storeOutput(
  output: GeneratedFile,
  signal: AbortSignal,
  context: FilesContext,
): Promise<StoredFile | Refused> {
  if (output.modality === "image") return storeImage(output, signal, context);
  if (output.content instanceof Uint8Array) return storeVideo(output.content, signal, context);
  try {
    return await storeSpooledVideo(output.content, signal, context);
  } finally {
    await output.content.discard();
  }
}

async function storeImage(
  { bytes, accountId }: Extract<GeneratedFile, { modality: "image" }>,
  signal: AbortSignal,
  context: FilesContext,
): Promise<StoredFile | Refused> {
  try {
    const encoded = await context.decodingOutputs.run({ bytes, accountId, signal }, () => encodeOutput(bytes));
    signal.throwIfAborted();
    return await orAborted(storeBytes(encoded.bytes, encoded.mediaType, context), signal);
  } catch (error) {
    if (!(error instanceof DecodeRefusal)) throw error;
    return { kind: "refused", message: OUTPUT_FAULTS[error.fault] };
  }
}

async function storeVideo(
  bytes: Uint8Array,
  signal: AbortSignal,
  context: FilesContext,
): Promise<StoredFile | Refused> {
  const mediaType = checkVideo(bytes, bytes.byteLength);
  return typeof mediaType === "string" ? orAborted(storeBytes(bytes, mediaType, context), signal) : mediaType;
}

async function storeSpooledVideo(
  file: SpooledFile,
  signal: AbortSignal,
  context: FilesContext,
): Promise<StoredFile | Refused> {
  const mediaType = checkVideo(await readHead(file.path), file.bytes);
  if (typeof mediaType !== "string") return mediaType;
  signal.throwIfAborted();
  const fileId = context.newId();
  await orAborted(context.blobs.putFile(fileId, file), signal);
  return describeStored({ fileId, bytes: file.bytes, sha256: file.sha256, mediaType }, context);
}

async function storeBytes(
  bytes: Uint8Array,
  mediaType: PublishedMediaType,
  context: FilesContext,
): Promise<StoredFile> {
  return describeStored(await putBytes(bytes, mediaType, context), context);
}

export async function putBytes(
  bytes: Uint8Array,
  mediaType: PublishedMediaType,
  { blobs, newId }: FilesContext,
): Promise<PutFile> {
  const fileId = newId();
  await blobs.put(fileId, () => [bytes], bytes.byteLength);
  return { fileId, bytes: bytes.byteLength, mediaType, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** Videos are not decoded: their first bytes decide the published media type, whatever the provider called it. */
function checkVideo(head: Uint8Array, bytes: number): PublishedMediaType | Refused {
  if (bytes > VIDEO_BYTES_MAX) {
    return { kind: "refused", message: "The model returned a video that is larger than 200 MiB." };
  }
  return findVideoType(head) ?? { kind: "refused", message: "The model returned a video that cannot be read." };
}

async function readHead(path: string): Promise<Uint8Array> {
  const file = await openPath(path);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(VIDEO_HEAD_BYTES), position: 0 });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The file's lifetime begins once its bytes are durable. Its address is decided here and never changes. */
function describeStored(file: PutFile, { clock, ttlSeconds, publicUrl, keys: { current } }: FilesContext): StoredFile {
  const generatedAtMs = clock.nowMs();
  const expiresAt = Math.floor(generatedAtMs / 1_000) + ttlSeconds;
  return {
    kind: "stored",
    ...file,
    url: publicUrl() + signedPath({ ...file, expiresAt }, current),
    keyId: current.keyId,
    generatedAtMs,
    expiresAtMs: expiresAt * 1_000,
  };
}
