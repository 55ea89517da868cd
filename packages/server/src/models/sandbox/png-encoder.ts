import { Buffer } from "node:buffer";
import { promisify } from "node:util";
import { crc32, deflate } from "node:zlib";

const deflateAsync = promisify(deflate);

/** One byte per pixel, row by row: an index into a palette of at most 256 colours. */
export interface IndexedPicture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
  readonly palette: readonly Colour[];
}

export type Colour = readonly [red: number, green: number, blue: number];

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BIT_DEPTH = 8;
const INDEXED_COLOUR = 3;

/** Encodes a PNG (ISO/IEC 15948) with a palette; compression runs on the thread pool, not on the event loop. */
export async function encodePng(picture: IndexedPicture): Promise<Uint8Array> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(picture.width, 0);
  header.writeUInt32BE(picture.height, 4);
  header.writeUInt8(BIT_DEPTH, 8);
  header.writeUInt8(INDEXED_COLOUR, 9); // compression, filter and interlace method stay 0
  const palette = Buffer.from(picture.palette.flat());
  const data = await deflateAsync(filterRows(picture));
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", palette),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Each row begins with its filter type; 0 (none) is right for palette images (PNG specification, 12.7). */
function filterRows(picture: IndexedPicture): Buffer {
  const rows = Buffer.alloc((picture.width + 1) * picture.height);
  for (let y = 0; y < picture.height; y += 1) {
    rows.set(picture.pixels.subarray(y * picture.width, (y + 1) * picture.width), y * (picture.width + 1) + 1);
  }
  return rows;
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(body, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
