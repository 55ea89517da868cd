import { hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

/** After the prefix: 30 random base62 characters (178 bits), then the base62 CRC-32 of everything before it. */
const BODY = /^[0-9A-Za-z]{36}$/;
const KEY_PREFIX = "pd_";
const TOKEN_PREFIX = "pdm_";
const RANDOM_CHARACTERS = 30;
const CHECK_CHARACTERS = 6;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export function mintApiKey(): string {
  return mint(KEY_PREFIX);
}

/** Makes a management token: like an API key, but with its own prefix, so that the two cannot be confused. */
export function mintToken(): string {
  return mint(TOKEN_PREFIX);
}

function mint(prefix: string): string {
  const random = Array.from({ length: RANDOM_CHARACTERS }, () => BASE62.charAt(randomInt(BASE62.length))).join("");
  return `${prefix}${random}${checkCharacters(`${prefix}${random}`)}`;
}

/**
 * Whether a text can be a key at all. This saves the database queries for typos and scans. It does not stop
 * attackers, because how to compute the check characters is public.
 */
export function hasKeyForm(text: string): boolean {
  return hasForm(text, KEY_PREFIX);
}

export function hasTokenForm(text: string): boolean {
  return hasForm(text, TOKEN_PREFIX);
}

function hasForm(text: string, prefix: string): boolean {
  if (!text.startsWith(prefix) || !BODY.test(text.slice(prefix.length))) return false;
  return text.slice(-CHECK_CHARACTERS) === checkCharacters(text.slice(0, -CHECK_CHARACTERS));
}

/**
 * Returns the SHA-256 of a key or token, 32 bytes. A slow hash is not needed, because the input has 178 random bits,
 * and it would let callers overload the server.
 */
export function hashApiKey(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

/** Returns what may be shown of a key after its creation: the first eight and the last four characters. */
export function displayOf(key: string): string {
  return `${key.slice(0, 8)}…${key.slice(-4)}`;
}

function checkCharacters(text: string): string {
  let rest = crc32(text);
  let characters = "";
  for (let i = 0; i < CHECK_CHARACTERS; i += 1) {
    characters = BASE62.charAt(rest % BASE62.length) + characters;
    rest = Math.floor(rest / BASE62.length);
  }
  return characters;
}
