import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { displayOf, hashApiKey, hasKeyForm, hasTokenForm, mintApiKey, mintToken } from "./api-keys.ts";

/** Thirty arbitrary characters. */
const ZEROS = `pd_${"0".repeat(30)}`;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
function checked(text: string): string {
  let [rest, check] = [crc32(text), ""];
  for (let i = 0; i < 6; i += 1) [check, rest] = [BASE62.charAt(rest % 62) + check, Math.floor(rest / 62)];
  return text + check;
}

describe("a key", () => {
  test("has 39 characters: pd_, thirty random base62 characters, and six check characters", () => {
    const keys = Array.from({ length: 200 }, mintApiKey);
    for (const key of keys) {
      expect(key).toMatch(/^pd_[0-9A-Za-z]{36}$/);
      expect(key).toBe(checked(key.slice(0, 33)));
      expect(hasKeyForm(key)).toBe(true);
    }
    expect(new Set(keys).size).toBe(200);
    // Each of the 62 characters almost certainly occurs among 6,000 (missing one: 62 x (61/62)^6000 < 1e-40).
    expect(new Set(keys.flatMap((key) => key.slice(3, 33).split(""))).size).toBe(62);
  });

  test("is recognized by its check characters, prefix, and length", () => {
    const key = checked(ZEROS);
    expect(hasKeyForm(key)).toBe(true);
    const others = [
      `${key}0`,
      ` ${key}`,
      `x${key}`,
      checked(`x${ZEROS}`),
      key.slice(0, -1),
      `${ZEROS}000000`,
      checked(`px_${"0".repeat(30)}`),
      checked(`pd_${"0".repeat(29)}`),
      checked(`pd_${"0".repeat(31)}`),
      checked(`pd_${"0".repeat(29)}-`),
      "",
    ];
    expect(others.map(hasKeyForm)).toEqual(others.map(() => false));
  });

  test("is stored as its SHA-256 and shown as its first eight and last four characters", () => {
    expect(hashApiKey("abc").toString("hex")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(displayOf("pd_01234567890123456789")).toBe("pd_01234…6789");
  });
});

test("a management token starts with pdm_, and tokens and keys are never confused", () => {
  const [token, key] = [mintToken(), mintApiKey()];
  expect(token).toMatch(/^pdm_[0-9A-Za-z]{36}$/);
  expect([hasTokenForm(token), hasKeyForm(token)]).toEqual([true, false]);
  expect([hasTokenForm(key), hasKeyForm(key)]).toEqual([false, true]);
});
