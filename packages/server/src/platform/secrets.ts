import { hkdfSync, timingSafeEqual } from "node:crypto";

/** A key of its own for each purpose: a signature of a file's address must never be one of a session. */
export function deriveKey(secret: Buffer, purpose: string, bytes = 32): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", purpose, bytes));
}

/** Takes as long for bytes that differ early as for those that differ late. */
export function isSameSecret(given: Uint8Array, expected: Uint8Array): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
