/** Signatures of the four supported image formats; a name or a media type proves nothing. */
export const IMAGE_SIGNATURE_BYTES = 12;
export type ImageFormat = "png" | "jpeg" | "webp" | "gif";

/** @param head at least the first 12 bytes of the file. Null: none of the four formats. */
export function findImageFormat(head: Uint8Array): ImageFormat | null {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, IMAGE_SIGNATURE_BYTES)).toString(
    "latin1",
  );
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "png";
  if (text.startsWith("\xff\xd8\xff")) return "jpeg";
  if (text.startsWith("RIFF") && text.slice(8, 12) === "WEBP") return "webp";
  return text.startsWith("GIF87a") || text.startsWith("GIF89a") ? "gif" : null;
}

/** How much of a file is needed to recognize its type. */
export const VIDEO_HEAD_BYTES = 4_096;

/** MP4 by its `ftyp` box, WebM by an EBML header whose document type is webm. Null: neither. */
export function findVideoType(bytes: Uint8Array): "video/mp4" | "video/webm" | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, VIDEO_HEAD_BYTES));
  if (head.length >= 16 && head.toString("latin1", 4, 8) === "ftyp") return "video/mp4";
  const isEbml = head.length >= 16 && head.readUInt32BE(0) === 0x1a45dfa3;
  // DocType is element 0x4282 with a length of 4 and the text "webm"; Matroska proper says "matroska".
  return isEbml && head.includes(Buffer.from("\x42\x82\x84webm", "latin1")) ? "video/webm" : null;
}
