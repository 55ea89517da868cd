import type { ImageInput } from "@promptd/contract";
import { createHash } from "node:crypto";
import { open as openPath } from "node:fs/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Gate } from "../../platform/resilience/semaphore.ts";
import type { Log } from "../../platform/log.ts";
import { decodeChunks, decodeHead, measureBase64 } from "../inputs/base64.ts";
import { DecodeRefusal, encodeOutput, type DecodeFault } from "../inputs/decode.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { findImageFormat, findVideoType, IMAGE_SIGNATURE_BYTES, VIDEO_HEAD_BYTES } from "../inputs/media-signature.ts";
import { orAborted } from "../blobs/or-aborted.ts";
import { parsePublicUrl } from "../fetch/public-address.ts";
import { signedPath, type KeyRing } from "./signed-urls.ts";
import type { SpooledFile } from "../blobs/spool.ts";
import type { GeneratedFile, KeptFile, PublishedMediaType, Refused, StoredImage } from "../stored-file.ts";

export interface KeepPorts {
  readonly blobs: BlobStore;
  readonly newId: () => string;
  readonly clock: Clock;
  readonly decoding: Gate;
  readonly log: Log;
  readonly keys: KeyRing;
  readonly ttlSeconds: number;
  /** Never taken from a request: a Host header would decide where our addresses lead. */
  readonly publicUrl: () => string;
}

type DiscardPorts = Pick<KeepPorts, "blobs" | "log">;

/** One image at a time: a run may bring 20 MiB, and one decoded piece of it is held at once. */
export async function keepInputImages(images: readonly ImageInput[], ports: KeepPorts): Promise<StoredImage[]> {
  const kept: StoredImage[] = [];
  try {
    for (const image of images) kept.push(await keepInputImage(image, ports));
    return kept;
  } catch (error) {
    discardInputImages(kept, ports); // of a disk that is full now, the part that still had room
    throw error;
  }
}

async function keepInputImage(image: ImageInput, ports: KeepPorts): Promise<StoredImage> {
  return image.type === "url" ? { type: "url", url: readUrl(image.url) } : keepBase64(image.base64, ports);
}

/** Each blob has an id of its own, so no other run can have it. Nobody waits: a store that is silent may take minutes. */
export function discardInputImages(images: readonly StoredImage[], { blobs, log }: DiscardPorts): void {
  const discard = async (): Promise<void> => {
    for (const image of images) if (image.type === "file") await blobs.delete(image.fileId);
  };
  discard().catch((cause: unknown) => {
    log.warn({ err: cause }, "images of a run that was not created could not be removed; a sweep does it later");
  });
}

/** The parsed form, so that the worker looks at the very host that was checked here. */
function readUrl(text: string): string {
  const parsed = parsePublicUrl(text);
  if ("fault" in parsed) throw new TypeError("An image address was kept without having been checked.");
  return parsed.url.href;
}

async function keepBase64(text: string, ports: KeepPorts): Promise<StoredImage> {
  const bytes = measureBase64(text);
  const format = findImageFormat(decodeHead(text, IMAGE_SIGNATURE_BYTES));
  if (bytes === null || format === null) throw new TypeError("An image was kept without having been checked.");
  const fileId = ports.newId();
  let hash = createHash("sha256");
  const open = () => {
    hash = createHash("sha256");
    return hashing(decodeChunks(text), hash);
  };
  await ports.blobs.put(fileId, open, bytes);
  return { type: "file", fileId, bytes, mediaType: `image/${format}`, sha256: hash.digest("hex") };
}

function* hashing(pieces: Iterable<Uint8Array>, hash: ReturnType<typeof createHash>): Generator<Uint8Array> {
  for (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

const VIDEO_BYTES_MAX = 209_715_200; // 200 MiB

/** Error items never say what a provider sent; these sentences are all a caller learns. */
const OUTPUT_FAULTS: Readonly<Record<DecodeFault, string>> = {
  "not-an-image": "The model returned an image that cannot be read.",
  "too-many-pixels": "The model returned an image that is too large.",
  "too-slow": "The model returned an image that cannot be read.",
  "too-large": "The model returned an image that is too large.",
};

export async function keepOutput(
  output: GeneratedFile,
  signal: AbortSignal,
  ports: KeepPorts,
): Promise<KeptFile | Refused> {
  if (output.modality === "video") return keepVideo(output.content, signal, ports);
  const checked = await checkImage(output.bytes, signal, ports.decoding);
  if ("kind" in checked) return checked;
  signal.throwIfAborted();
  return orAborted(keepBytes(checked.bytes, checked.mediaType, ports), signal);
}

async function keepBytes(bytes: Uint8Array, mediaType: PublishedMediaType, ports: KeepPorts): Promise<KeptFile> {
  const fileId = ports.newId();
  await ports.blobs.put(fileId, () => [bytes], bytes.byteLength);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return describeKept(fileId, { bytes: bytes.byteLength, sha256, mediaType }, ports);
}

async function checkImage(
  bytes: Uint8Array,
  signal: AbortSignal,
  decoding: Gate,
): Promise<{ readonly bytes: Uint8Array; readonly mediaType: PublishedMediaType } | Refused> {
  try {
    return await decoding.run(() => encodeOutput(bytes), signal);
  } catch (error) {
    if (!(error instanceof DecodeRefusal)) throw error;
    return { kind: "refused", message: OUTPUT_FAULTS[error.fault] };
  }
}

/** A video is passed through: its first bytes decide the type it is published under, whatever the provider called it. */
async function keepVideo(
  content: Uint8Array | SpooledFile,
  signal: AbortSignal,
  ports: KeepPorts,
): Promise<KeptFile | Refused> {
  if (content instanceof Uint8Array) {
    const mediaType = checkVideo(content, content.byteLength);
    return typeof mediaType === "string" ? orAborted(keepBytes(content, mediaType, ports), signal) : mediaType;
  }
  try {
    const mediaType = checkVideo(await readHead(content.path), content.bytes);
    if (typeof mediaType !== "string") return mediaType;
    signal.throwIfAborted();
    const fileId = ports.newId();
    await orAborted(ports.blobs.putFile(fileId, content), signal);
    return describeKept(fileId, { bytes: content.bytes, sha256: content.sha256, mediaType }, ports);
  } finally {
    await content.discard();
  }
}

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

/** The life of the file begins when its bytes are durable, and its address is decided here once for ever. */
function describeKept(
  fileId: string,
  content: Pick<KeptFile, "bytes" | "sha256" | "mediaType">,
  ports: KeepPorts,
): KeptFile {
  const generatedAtMs = ports.clock.nowMs();
  const expiresAt = Math.floor(generatedAtMs / 1_000) + ports.ttlSeconds;
  const { mediaType } = content;
  const { current } = ports.keys;
  return {
    kind: "kept",
    fileId,
    url: ports.publicUrl() + signedPath({ fileId, mediaType, expiresAt }, current),
    ...content,
    keyId: current.keyId,
    generatedAtMs,
    expiresAtMs: expiresAt * 1_000,
  };
}
