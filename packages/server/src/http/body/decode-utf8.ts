import { isAscii, isUtf8 } from "node:buffer";
import { badRequest } from "../../platform/problem.ts";

/** @throws Problem BAD_REQUEST_ERROR that names the first byte that is not UTF-8, counted from `offset`. */
export function decodeUtf8(bytes: Buffer, offset = 0): string {
  if (isAscii(bytes)) return bytes.toString("latin1"); // a quarter of the time
  if (isUtf8(bytes)) return bytes.toString("utf8");
  throw badRequest(`The request body is not valid UTF-8 (at byte ${offset + invalidByteAt(bytes)}).`);
}

/** Drops a byte order mark at the start of the text. */
export function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** What Node writes for bytes that it cannot decode; a valid text may contain it too. */
const REPLACEMENT = Buffer.from("\ufffd");

/** Returns the index of the first byte that is not valid UTF-8. Called only for bytes that contain one. */
function invalidByteAt(bytes: Buffer): number {
  let at = 0;
  for (const text of bytes.toString("utf8").split("\ufffd")) {
    at += Buffer.byteLength(text);
    if (!bytes.subarray(at, at + REPLACEMENT.length).equals(REPLACEMENT)) break;
    at += REPLACEMENT.length;
  }
  return at;
}
