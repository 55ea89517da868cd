/**
 * The form of the shipped data files: gzip over
 *   4 bytes    length of the header, little endian
 *   header     JSON: {"name": [offset, bytes], ...}, offsets from the end of the header
 *   sections   one after another
 * Numbers are little endian, as on every machine this runs on.
 */
import { gunzip, gzipSync } from "node:zlib";
import { promisify } from "node:util";

export type Sections = Readonly<Record<string, Uint8Array>>;

export function encodeDataFile(sections: Sections): Buffer {
  const header: Record<string, [number, number]> = {};
  let offset = 0;
  for (const [name, bytes] of Object.entries(sections)) {
    header[name] = [offset, bytes.byteLength];
    offset += bytes.byteLength;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.byteLength);
  return gzipSync(Buffer.concat([length, text, ...Object.values(sections)]), { level: 9 });
}

const unzip = promisify(gunzip);

/** Unpacks outside of the event loop's thread. Each section is a copy of its own, so that it is aligned. */
export async function decodeDataFile(packed: Uint8Array): Promise<Sections> {
  const bytes = await unzip(packed);
  const bodyStart = 4 + bytes.readUInt32LE(0);
  const header = JSON.parse(bytes.toString("utf8", 4, bodyStart)) as Record<string, [number, number]>;
  return Object.fromEntries(
    Object.entries(header).map(([name, [offset, length]]) => {
      const section = new Uint8Array(length);
      section.set(bytes.subarray(bodyStart + offset, bodyStart + offset + length));
      return [name, section];
    }),
  );
}

export function sectionOf(sections: Sections, name: string): Uint8Array {
  const section = sections[name];
  if (section === undefined) throw new Error(`The search data has no section ${name}: build it again.`);
  return section;
}

/** Bytes of a typed array, without copying. */
export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
