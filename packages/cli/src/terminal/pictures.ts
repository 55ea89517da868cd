import type { PictureProtocol } from "./terminal.ts";

/** kitty does not read larger chunks. */
const CHUNK_LENGTH = 4_096;
const PNG = [0x89, 0x50, 0x4e, 0x47];

/**
 * The escape sequence that shows a picture in a terminal. Null: this terminal does not support its format.
 * Sources: https://sw.kovidgoyal.net/kitty/graphics-protocol/ and https://iterm2.com/documentation-images.html
 */
export function formatPicture(bytes: Uint8Array, protocol: PictureProtocol): string | null {
  const base64 = Buffer.from(bytes).toString("base64");
  if (protocol === "iterm")
    return `\u001b]1337;File=inline=1;preserveAspectRatio=1;size=${bytes.length}:${base64}\u0007`;
  if (!PNG.every((byte, at) => bytes[at] === byte)) return null;
  const chunks = base64.match(new RegExp(`.{1,${CHUNK_LENGTH}}`, "g")) ?? [];
  return chunks
    .map((chunk, at) => {
      const head = at === 0 ? "a=T,f=100," : "";
      return `\u001b_G${head}m=${at === chunks.length - 1 ? 0 : 1};${chunk}\u001b\\`;
    })
    .join("");
}
