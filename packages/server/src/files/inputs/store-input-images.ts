import type { ImageInput } from "@promptd/contract";
import { createHash } from "node:crypto";
import { parsePublicUrl } from "../fetch/public-address.ts";
import type { FilesContext } from "../files-context.ts";
import type { StoredImage } from "../stored-file.ts";
import { decodeChunks, decodeHead, measureBase64 } from "./base64.ts";
import { findImageFormat, IMAGE_SIGNATURE_BYTES } from "./media-signature.ts";

/** Stores one image at a time: a run may have 20 MiB of images, and only one decoded chunk is in memory at once. */
export async function storeInputImages(images: readonly ImageInput[], context: FilesContext): Promise<StoredImage[]> {
  const stored: StoredImage[] = [];
  try {
    for (const image of images) {
      stored.push(
        image.type === "url" ? { type: "url", url: parseUrl(image.url) } : await storeBase64(image.base64, context),
      );
    }
    return stored;
  } catch (error) {
    discardInputImages(stored, context); // on a full disk, removes the images that still fit
    throw error;
  }
}

/** Each blob has its own id, so no other run uses it. Runs in the background, since the store may take minutes to respond. */
export function discardInputImages(images: readonly StoredImage[], { blobs, log }: FilesContext): void {
  const discard = async (): Promise<void> => {
    for (const image of images) if (image.type === "file") await blobs.delete(image.fileId);
  };
  discard().catch((cause: unknown) => {
    log.warn({ err: cause }, "images of a run that was not created could not be removed; a sweep will remove them");
  });
}

/** Returns the parsed address, so that the worker fetches from exactly the host that was checked here. */
function parseUrl(text: string): string {
  const parsed = parsePublicUrl(text);
  if ("fault" in parsed) throw new TypeError("An image address must be checked before it is stored.");
  return parsed.url.href;
}

async function storeBase64(text: string, { blobs, newId }: FilesContext): Promise<StoredImage> {
  const bytes = measureBase64(text);
  const format = findImageFormat(decodeHead(text, IMAGE_SIGNATURE_BYTES));
  if (bytes === null || format === null) throw new TypeError("An image must be checked before it is stored.");
  const fileId = newId();
  let hash = createHash("sha256");
  const open = function* (): Generator<Uint8Array> {
    hash = createHash("sha256");
    for (const chunk of decodeChunks(text)) {
      hash.update(chunk);
      yield chunk;
    }
  };
  await blobs.put(fileId, open, bytes);
  return { type: "file", fileId, bytes, mediaType: `image/${format}`, sha256: hash.digest("hex") };
}
