import { isAscii, isUtf8 } from "node:buffer";
import { badRequest } from "../../platform/problem.ts";

/** @throws Problem BAD_REQUEST_ERROR with the first byte that is not UTF-8, counted from `offset`. */
export function decodeUtf8(bytes: Buffer, offset = 0): string {
  if (isAscii(bytes)) return bytes.toString("latin1"); // a quarter of the time
  if (isUtf8(bytes)) return bytes.toString("utf8");
  throw badRequest(`The request body is not valid UTF-8 (at byte ${offset + invalidByteAt(bytes)}).`);
}

/** A byte order mark before the text is accepted and dropped. */
export function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

const WINDOW_BYTES = 16_384;

/** Index of the first byte that no UTF-8 text has there. Only called for bytes that have one. */
function invalidByteAt(bytes: Uint8Array): number {
  let start = 0;
  const windows = new TextDecoder("utf-8", { fatal: true });
  while (start < bytes.length && canDecode(windows, bytes.subarray(start, start + WINDOW_BYTES))) start += WINDOW_BYTES;
  // Step back to where the character cut by the window begins, then go byte by byte.
  let at = Math.min(start, bytes.length);
  while (at > 0 && ((bytes[at] ?? 0x80) & 0xc0) === 0x80 && start - at < 3) at -= 1;
  const single = new TextDecoder("utf-8", { fatal: true });
  while (at < bytes.length && canDecode(single, bytes.subarray(at, at + 1))) at += 1;
  return at;
}

function canDecode(decoder: InstanceType<typeof TextDecoder>, part: Uint8Array): boolean {
  try {
    decoder.decode(part, { stream: true });
    return true;
  } catch {
    return false; // which is the answer
  }
}
