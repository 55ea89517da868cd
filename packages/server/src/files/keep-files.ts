import type { ImageInput } from "@promptd/contract";
import { createHash } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import { decodeChunks, decodeHead, measureBase64 } from "./base64.ts";
import { DecodeRefusal, encodeOutput, type DecodeFault } from "./decode.ts";
import type { BlobStore } from "./file-store.ts";
import type { Gate } from "./gate.ts";
import { findImageFormat, findVideoType, IMAGE_SIGNATURE_BYTES } from "./media-signature.ts";
import { parsePublicUrl } from "./public-address.ts";
import { signedPath, type KeyRing } from "./signed-urls.ts";
import type { GeneratedFile, KeptFile, PublishedMediaType, Refused, StoredImage } from "./stored-files.ts";

export interface KeepPorts {
  readonly blobs: BlobStore;
  readonly newId: () => string;
  readonly clock: Clock;
  readonly decoding: Gate;
  readonly keys: KeyRing;
  readonly ttlSeconds: number;
  /** Never taken from a request: a Host header would decide where our addresses lead. */
  readonly publicUrl: () => string;
}

/** One image at a time: a run may bring 20 MiB, and one decoded piece of it is held at once. */
export async function keepInputImages(images: readonly ImageInput[], ports: KeepPorts): Promise<StoredImage[]> {
  const kept: StoredImage[] = [];
  for (const image of images) {
    kept.push(image.type === "url" ? { type: "url", url: readUrl(image.url) } : await keepBase64(image.base64, ports));
  }
  return kept;
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
  const checked = output.modality === "video" ? checkVideo(output) : await checkImage(output, signal, ports.decoding);
  if ("kind" in checked) return checked;
  signal.throwIfAborted();
  const fileId = ports.newId();
  await ports.blobs.put(fileId, () => [checked.bytes], checked.bytes.byteLength);
  return describeKept(fileId, checked, ports);
}

interface CheckedOutput {
  readonly bytes: Uint8Array;
  readonly mediaType: PublishedMediaType;
}

async function checkImage(
  output: GeneratedFile,
  signal: AbortSignal,
  decoding: Gate,
): Promise<CheckedOutput | Refused> {
  try {
    return await decoding.run(() => encodeOutput(output.bytes), signal);
  } catch (error) {
    if (!(error instanceof DecodeRefusal)) throw error;
    return { kind: "refused", message: OUTPUT_FAULTS[error.fault] };
  }
}

/** A video is passed through: its first bytes decide the type it is published under, whatever the provider called it. */
function checkVideo(output: GeneratedFile): CheckedOutput | Refused {
  if (output.bytes.byteLength > VIDEO_BYTES_MAX) {
    return { kind: "refused", message: "The model returned a video that is larger than 200 MiB." };
  }
  const mediaType = findVideoType(output.bytes);
  if (mediaType === null) return { kind: "refused", message: "The model returned a video that cannot be read." };
  return { bytes: output.bytes, mediaType };
}

/** The life of the file begins when its bytes are durable, and its address is decided here once for ever. */
function describeKept(fileId: string, checked: CheckedOutput, ports: KeepPorts): KeptFile {
  const generatedAtMs = ports.clock.nowMs();
  const expiresAt = Math.floor(generatedAtMs / 1_000) + ports.ttlSeconds;
  const { mediaType } = checked;
  const { current } = ports.keys;
  return {
    kind: "kept",
    fileId,
    url: ports.publicUrl() + signedPath({ fileId, mediaType, expiresAt }, current),
    bytes: checked.bytes.byteLength,
    mediaType,
    sha256: createHash("sha256").update(checked.bytes).digest("hex"),
    keyId: current.keyId,
    generatedAtMs,
    expiresAtMs: expiresAt * 1_000,
  };
}
