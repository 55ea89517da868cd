import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/** A PNG written by hand, so that a test can put values in its header that no encoder would. */
export function writePng(
  header: { width: number; height: number; depth: number; color: number; isInterlaced?: boolean },
  data: Buffer,
): Buffer {
  const fields = Buffer.alloc(13);
  fields.writeUInt32BE(header.width, 0);
  fields.writeUInt32BE(header.height, 4);
  fields.writeUInt8(header.depth, 8);
  fields.writeUInt8(header.color, 9);
  fields.writeUInt8(header.isInterlaced === true ? 1 : 0, 12);
  return Buffer.concat([SIGNATURE, chunk("IHDR", fields), chunk("IDAT", deflateSync(data)), chunk("IEND")]);
}

export function chunk(name: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
