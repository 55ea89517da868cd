import { createHmac } from "node:crypto";
import { deriveKey, isSameSecret } from "../../platform/secrets.ts";
import { EXTENSIONS, type PublishedMediaType } from "../stored-file.ts";

/** A key that signs file addresses. Its number is part of the address; the key itself never is. */
export interface FileKey {
  readonly keyId: number;
  readonly key: Buffer;
}

/** The signing key, and earlier keys for as long as their files may exist. */
export interface KeyRing {
  readonly current: FileKey;
  readonly previous: readonly (FileKey & { readonly acceptedUntilMs: number })[];
}

const FINGERPRINT_BYTES = 8;
const SIGNATURE_LENGTH = 22; // base64url characters: 132 bits

export function deriveFileKey(secret: Buffer): Buffer {
  return deriveKey(secret, "promptd file addresses v1");
}

/** Tells two secrets apart without revealing anything about either. */
export function fingerprintOf(secret: Buffer): Buffer {
  return deriveKey(secret, "promptd secret fingerprint v1", FINGERPRINT_BYTES);
}

export interface SignedFile {
  readonly fileId: string;
  readonly mediaType: PublishedMediaType;
  /** Unix time in seconds. */
  readonly expiresAt: number;
}

/** Path and query of a file's address, to append to the service's public address. */
export function signedPath(file: SignedFile, key: FileKey): string {
  const name = `${file.fileId}.${EXTENSIONS[file.mediaType]}`;
  return `/files/${name}?e=${file.expiresAt}&k=${key.keyId}&s=${signatureOf(file, key.key)}`;
}

function signatureOf(file: SignedFile, key: Buffer): string {
  const signed = `v1|${file.fileId}|${file.expiresAt}|${file.mediaType}`;
  return createHmac("sha256", key).update(signed).digest("base64url").slice(0, SIGNATURE_LENGTH);
}

type NamedFile = Pick<SignedFile, "fileId" | "mediaType">;

const NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([a-z0-9]{3,4})$/;
/** Returns the file that one of this service's addresses names; null: some other address. */
export function fileOf(url: string): NamedFile | null {
  return readName(URL.parse(url)?.pathname.split("/").at(-1) ?? "");
}

function readName(name: string): NamedFile | null {
  const [, fileId, ending] = NAME.exec(name) ?? [];
  const mediaType = mediaTypeOf(ending);
  return fileId === undefined || mediaType === null ? null : { fileId, mediaType };
}

const NUMBERS = { e: /^[1-9][0-9]{0,11}$/, k: /^[1-9][0-9]{0,8}$/ };

/**
 * Checks an address by its signature and the clock alone, so a removed file is still reported as "expired".
 * @param name last segment of the path, `<fileId>.<ending>`.
 * @returns null if the signature does not match, for whatever reason.
 */
export function verifyAddress(
  name: string,
  query: URLSearchParams,
  ring: KeyRing,
  nowMs: number,
): { readonly kind: "valid" | "expired"; readonly file: SignedFile } | null {
  const named = readName(name);
  const [expires, keyId, signature] = [only(query, "e"), only(query, "k"), only(query, "s")];
  if (named === null) return null;
  if (!NUMBERS.e.test(expires) || !NUMBERS.k.test(keyId)) return null;
  const file = { ...named, expiresAt: Number(expires) };
  const isExpired = nowMs >= file.expiresAt * 1_000;
  const key = findKey(ring, Number(keyId), isExpired ? null : nowMs);
  if (key === null || !isSameSecret(Buffer.from(signature), Buffer.from(signatureOf(file, key.key)))) return null;
  return { kind: isExpired ? "expired" : "valid", file };
}

/**
 * An earlier key opens files only until the last file it signed has expired: after a leak, nothing signed with it may open
 * a file. It still reports that old files expired (`nowMs` null), which opens nothing.
 */
function findKey(ring: KeyRing, keyId: number, nowMs: number | null): FileKey | null {
  if (keyId === ring.current.keyId) return ring.current;
  const previous = ring.previous.find((key) => key.keyId === keyId);
  if (previous === undefined) return null;
  return nowMs === null || nowMs < previous.acceptedUntilMs ? previous : null;
}

function mediaTypeOf(ending: string | undefined): PublishedMediaType | null {
  const types = Object.keys(EXTENSIONS) as PublishedMediaType[];
  return types.find((type) => EXTENSIONS[type] === ending) ?? null;
}

/** Empty unless the parameter appears exactly once. */
function only(query: URLSearchParams, name: string): string {
  const [value = "", ...others] = query.getAll(name);
  return others.length === 0 ? value : "";
}
