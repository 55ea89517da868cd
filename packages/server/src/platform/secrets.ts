import { hkdfSync, timingSafeEqual } from "node:crypto";

/** Derives a separate key for each purpose: the signature of a file address must never be valid for a session. */
export function deriveKey(secret: Buffer, purpose: string, bytes = 32): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", purpose, bytes));
}

/** Compares in constant time, wherever the bytes differ. */
export function isSameSecret(given: Uint8Array, expected: Uint8Array): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
