import type { ImageInput } from "@promptd/contract";
import { imageFromBytes } from "@promptd/client";
import type { McpSource } from "../source.ts";

/** Of the argument itself: an address, a data URL or Base64; 40 characters tell Base64 from a name of a file. */
const BASE64 = /^[A-Za-z0-9+/\s]{40,}={0,2}\s*$/;

/**
 * An image as a tool call gives it. A path is read only where the source allows it: the text comes from a model, which
 * must not choose any file of the machine.
 * @throws RangeError that says what an image may be.
 */
export async function readImage(text: string, { readImageFile }: McpSource): Promise<ImageInput> {
  if (/^https?:\/\//i.test(text)) return { type: "url", url: text };
  const data = /^data:[^,]*;base64,(.*)$/is.exec(text)?.[1];
  if (data !== undefined) return { type: "base64", base64: data };
  if (BASE64.test(text)) return { type: "base64", base64: text };
  if (readImageFile !== null) return imageFromBytes(await readImageFile(text));
  throw new RangeError("An image must be an https address, a data URL, or Base64. Files cannot be read here.");
}
