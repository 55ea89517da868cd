import { Buffer } from "node:buffer";

/** Returns the longest prefix that fits in so many bytes of UTF-8, cut between code points. */
export function cutBytes(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  // The length of the decoded text: a lone surrogate became U+FFFD there, which is also one unit.
  return text.slice(0, bytes.toString("utf8", 0, end).length);
}
