import type { ImageInput } from "@promptd/contract";

/** Characters per step: more arguments than this would overflow the stack of some runtimes. */
const CHUNK_BYTES = 0x8000;

/** @param bytes a PNG, JPEG, WebP or GIF of at most 10 MiB; the server checks it. */
export function imageFromBytes(bytes: Uint8Array): ImageInput {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES));
  }
  return { type: "base64", base64: btoa(binary) };
}

/** @param url a publicly accessible https address; the server fetches it when the run begins. */
export function imageFromUrl(url: string): ImageInput {
  return { type: "url", url };
}
