import { Buffer } from "node:buffer";

/** A text larger than this is cut: an output is a row of the database and an answer of the API. */
export const TEXT_BYTES_MAX = 2_097_152;

/**
 * Makes a provider's text storable: lone surrogates become U+FFFD, so does U+0000 (PostgreSQL refuses it, and a paid
 * run would then never finish), and what is over the limit is cut between code points.
 */
export function cleanText(text: string): { readonly text: string; readonly isCut: boolean } {
  const cut = cutBytes(text.toWellFormed().replaceAll("\u0000", "\ufffd"), TEXT_BYTES_MAX);
  return { text: cut, isCut: cut.length < text.length };
}

function cutBytes(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}
