import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { deriveFileKey, fileOf, fingerprintOf, signedPath, verifyAddress, type KeyRing } from "./signed-urls.ts";

const SECRET = Buffer.alloc(32, 1);
const KEY = { keyId: 2, key: deriveFileKey(SECRET) };
const PREVIOUS = { keyId: 1, key: deriveFileKey(Buffer.alloc(32, 2)) };
const FILE_ID = "01a1f874-6c4e-7f02-8a44-9e2d6c1b7f50";
const EXPIRES = 1_795_256_141;
const BEFORE_MS = EXPIRES * 1_000 - 1;
const FILE = { fileId: FILE_ID, mediaType: "image/png", expiresAt: EXPIRES } as const;
const RING: KeyRing = { current: KEY, previous: [] };

const PATH = signedPath(FILE, KEY);

function verify(path: string, nowMs = BEFORE_MS, ring = RING) {
  const { pathname, searchParams } = new URL(path, "https://example.org");
  return verifyAddress(pathname.replace("/files/", ""), searchParams, ring, nowMs)?.kind ?? null;
}

test("an address carries 132 bits of HMAC-SHA256 over version, id, expiry, and media type", () => {
  const signature = createHmac("sha256", KEY.key).update(`v1|${FILE_ID}|${EXPIRES}|image/png`).digest("base64url");
  expect(PATH).toBe(`/files/${FILE_ID}.png?e=${EXPIRES}&k=2&s=${signature.slice(0, 22)}`);
  expect(verify(PATH)).toBe("valid");
});

test("an address of this service names its file and type, and no other address does", () => {
  const { fileId, mediaType } = FILE;
  expect(fileOf(`https://example.org${PATH}`)).toEqual({ fileId, mediaType });
  const others = ["/", `/files/${FILE_ID}.exe`, `/files/x${FILE_ID}.png`].map((path) => `https://example.org${path}`);
  for (const url of [PATH, ...others]) expect(fileOf(url)).toBeNull();
});

describe("a modified address opens nothing", () => {
  const signature = PATH.slice(-22);
  const flipped = signature.startsWith("A") ? `B${signature.slice(1)}` : `A${signature.slice(1)}`;
  const cases: [string, string][] = [
    ["another signature", PATH.replace(signature, flipped)],
    ["a shorter signature", PATH.slice(0, -1)],
    ["a longer signature", `${PATH}A`],
    ["a signature in another alphabet", PATH.replace(signature, signature.replaceAll(/./g, "+"))],
    ["an empty signature", PATH.replace(signature, "")],
    ["no signature", PATH.replace(`&s=${signature}`, "")],
    ["two signatures", `${PATH}&s=${signature}`],
    ["a later expiry", PATH.replace(`e=${EXPIRES}`, `e=${EXPIRES + 1}`)],
    ["an earlier expiry", PATH.replace(`e=${EXPIRES}`, `e=${EXPIRES - 1}`)],
    ["an expiry with leading zeros", PATH.replace("e=", "e=0")],
    ["an expiry with a sign", PATH.replace("e=", "e=%2B")],
    ["an expiry with an exponent", PATH.replace(`e=${EXPIRES}`, "e=1e12")],
    ["an endless expiry", PATH.replace(`e=${EXPIRES}`, "e=99999999999999999999")],
    ["an expiry with a trailing space", PATH.replace(`e=${EXPIRES}`, `e=${EXPIRES}%20`)],
    ["no expiry", PATH.replace(`e=${EXPIRES}&`, "")],
    ["two expiries", `${PATH}&e=${EXPIRES}`],
    ["another key", PATH.replace("k=2", "k=1")],
    ["a key that never existed", PATH.replace("k=2", "k=7")],
    ["a key that is not a number", PATH.replace("k=2", "k=__proto__")],
    ["a key number with leading zeros", PATH.replace("k=2", "k=02")],
    ["a key number with a leading space", PATH.replace("k=2", "k=%202")],
    ["a key number with a trailing space", PATH.replace("k=2", "k=2%20")],
    ["two keys", `${PATH}&k=2`],
    ["no key", PATH.replace("&k=2", "")],
    ["another extension", PATH.replace(".png", ".jpg")],
    ["an uppercase extension", PATH.replace(".png", ".PNG")],
    ["an unknown extension", PATH.replace(".png", ".svg")],
    ["a second extension", PATH.replace(".png", ".png.html")],
    ["no extension", PATH.replace(".png", "")],
    ["another file", PATH.replace("01a1f874", "01a1f875")],
    ["an uppercase id", PATH.replace(FILE_ID, FILE_ID.toUpperCase())],
    ["a path before the id", PATH.replace(FILE_ID, `..%2F${FILE_ID}`)],
  ];
  test.each(cases)("%s", (_name, path) => {
    expect(path).not.toBe(PATH);
    expect(verify(path)).toBeNull();
    expect(verify(path, EXPIRES * 1_000 + 5_000)).toBeNull(); // not even "expired": the signature does not match
  });

  test("unsigned parameters do not matter", () => {
    expect(verify(`${PATH}&utm_source=x`)).toBe("valid");
  });
});

test("keys after the ninth also sign addresses", () => {
  for (const keyId of [10, 123_456_789]) {
    const key = { ...KEY, keyId };
    expect(verify(signedPath(FILE, key), BEFORE_MS, { current: key, previous: [] })).toBe("valid");
  }
});

test("an address expires exactly at its second", () => {
  expect(verify(PATH, EXPIRES * 1_000 - 1_000)).toBe("valid");
  expect(verify(PATH, EXPIRES * 1_000 - 1)).toBe("valid");
  expect(verify(PATH, EXPIRES * 1_000)).toBe("expired");
  expect(verify(PATH, EXPIRES * 1_000 + 1_000)).toBe("expired");
  expect(verify(PATH, EXPIRES * 1_000 + 10 * 365 * 86_400_000)).toBe("expired");
});

describe("after a rotation", () => {
  const rotated = (acceptedUntilMs: number): KeyRing => ({
    current: KEY,
    previous: [{ ...PREVIOUS, acceptedUntilMs }],
  });
  const old = signedPath(FILE, PREVIOUS);

  test("the previous key opens files as long as any file it signed may exist, and reports them as expired afterwards", () => {
    const ring = rotated(EXPIRES * 1_000);
    expect(verify(old, BEFORE_MS, ring)).toBe("valid");
    expect(verify(old, EXPIRES * 1_000, ring)).toBe("expired");
  });

  test("an address that a stolen key signs for later opens nothing once that time is over", () => {
    const ring = rotated(BEFORE_MS - 1_000);
    expect(verify(old, BEFORE_MS - 1_001, ring)).toBe("valid");
    expect(verify(old, BEFORE_MS - 1_000, ring)).toBeNull();
  });

  test("an address signed by either key opens nothing under another key number", () => {
    const ring = rotated(EXPIRES * 1_000);
    for (const path of [old.replace("k=1", "k=7"), old.replace("k=1", "k=2"), PATH.replace("k=2", "k=7")]) {
      expect(verify(path, BEFORE_MS, ring)).toBeNull();
    }
  });

  test("a dropped key opens nothing", () => {
    expect(verify(old, BEFORE_MS, RING)).toBeNull();
    expect(verify(old, EXPIRES * 1_000, RING)).toBeNull();
  });
});

test("a secret yields the same key and fingerprint in every release, so addresses survive an update", () => {
  expect(deriveFileKey(SECRET).toString("hex")).toBe(
    "e965734817a7df2d4991f876d5f17ec3cae1409f2590af113fc43749d9f21611",
  );
  expect(fingerprintOf(SECRET).toString("hex")).toBe("af144098cf6de815");
});

test("signing key and fingerprint come from the secret by different derivations", () => {
  expect(deriveFileKey(SECRET)).toHaveLength(32);
  expect(fingerprintOf(SECRET)).toHaveLength(8);
  expect(deriveFileKey(SECRET).subarray(0, 8).equals(fingerprintOf(SECRET))).toBe(false);
  expect(deriveFileKey(SECRET).equals(deriveFileKey(Buffer.alloc(32, 3)))).toBe(false);
});
