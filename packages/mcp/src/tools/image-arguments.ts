import type { ImageInput } from "@promptd/contract";
import { imageFromBytes } from "@promptd/client";
import type { McpSource } from "../source.ts";

/** At least 40 characters: a shorter text may be a file name. For a text without white space at its end. */
const BASE64 = /^[A-Za-z0-9+/\s]{40,}={0,2}$/;

/**
 * Reads an image argument of a tool call. A path is read only if the source allows it: the text comes from a model,
 * which must not read arbitrary files of the machine.
 * @throws RangeError that names the accepted forms.
 */
export async function readImage(text: string, { readImageFile }: McpSource): Promise<ImageInput> {
  if (/^https?:\/\//i.test(text)) return { type: "url", url: text };
  const data = /^data:[^,]*;base64,(.*)$/is.exec(text)?.[1];
  if (data !== undefined) return { type: "base64", base64: data };
  if (BASE64.test(text.trimEnd())) return { type: "base64", base64: text };
  if (readImageFile !== null) return imageFromBytes(await readImageFile(text));
  throw new RangeError("An image must be an https URL, a data URL, or Base64. File paths are not accepted here.");
}
