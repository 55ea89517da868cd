import type { ImageInput } from "@promptd/contract";

/** Characters per step: more arguments would overflow the stack in some runtimes. */
const CHUNK_BYTES = 0x8000;

/**
 * An image of a run: an https or data URL, a file path (a string or a `file:` URL; not in browsers), bytes, a Blob, or
 * the form that is sent.
 */
export type ImageSource = string | URL | Uint8Array | ArrayBuffer | Blob | ImageInput;

/** @param bytes a PNG, JPEG, WebP, or GIF of at most 10 MiB; the server checks it. */
export function imageFromBytes(bytes: Uint8Array): ImageInput {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES));
  }
  return { type: "base64", base64: btoa(binary) };
}

/** @param url a public https URL; the server fetches it when the run starts. */
export function imageFromUrl(url: string): ImageInput {
  return { type: "url", url };
}

/** @throws TypeError for anything but an array, and as `toImageInput` does. */
export async function toImageInputs(images: readonly ImageSource[]): Promise<ImageInput[]> {
  if (!Array.isArray(images)) throw new TypeError('images must be an array, such as ["cat.jpg"].');
  return Promise.all(images.map(toImageInput));
}

/** @throws TypeError for an invalid image, or a path in a browser; the system's error if a file cannot be read. */
export async function toImageInput(source: ImageSource): Promise<ImageInput> {
  if (typeof source === "string" || source instanceof URL) return imageFromText(String(source));
  if (source instanceof Uint8Array) return imageFromBytes(source);
  if (source instanceof ArrayBuffer) return imageFromBytes(new Uint8Array(source));
  if (source instanceof Blob) return imageFromBytes(new Uint8Array(await source.arrayBuffer()));
  if (source.type === "url" || source.type === "base64") return source;
  throw new TypeError("An image must be a URL, a path, bytes, or a Blob.");
}

async function imageFromText(text: string): Promise<ImageInput> {
  if (/^https?:/i.test(text)) return imageFromUrl(text);
  const base64 = /^data:[^,]*;base64,(.*)$/is.exec(text)?.[1];
  if (base64 !== undefined) return { type: "base64", base64 };
  return imageFromBytes(await readFile(/^file:/i.test(text) ? new URL(text) : text));
}

interface Files {
  readFile(path: string | URL): Promise<Uint8Array>;
}

/** Loaded at run time: an import of `node:fs` would break browser bundlers. Node, Deno, and Bun have it. */
function readFile(path: string | URL): Promise<Uint8Array> {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const files = process?.getBuiltinModule?.("node:fs/promises") as Files | undefined;
  if (files !== undefined) return files.readFile(path);
  throw new TypeError(
    `The image ${path} is a file path, and this runtime cannot read files. Pass bytes, a Blob, or a URL.`,
  );
}
