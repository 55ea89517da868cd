/**
 * The format of the shipped data files: gzip over
 *   4 bytes    length of the header, little endian
 *   header     JSON: {"name": [offset, bytes], ...}, offsets from the end of the header
 *   sections   each aligned to 8 bytes, so that its numbers are read in place
 * Numbers are little endian, as on every machine this runs on.
 */
import { readFile } from "node:fs/promises";
import { gunzip, gzipSync } from "node:zlib";
import { promisify } from "node:util";

export type Sections = Readonly<Record<string, Uint8Array>>;

const DIRECTORY = new URL("../../../search-data/", import.meta.url);
const ALIGNMENT = 8;

export function encodeDataFile(sections: Sections): Buffer {
  const header: Record<string, [number, number]> = {};
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const [name, bytes] of Object.entries(sections)) {
    header[name] = [offset, bytes.byteLength];
    const padding = Buffer.alloc(-bytes.byteLength & (ALIGNMENT - 1));
    parts.push(bytes, padding);
    offset += bytes.byteLength + padding.byteLength;
  }
  const text = JSON.stringify(header);
  const spaces = " ".repeat(-(text.length + 4) & (ALIGNMENT - 1));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length + spaces.length);
  return gzipSync(Buffer.concat([length, Buffer.from(text + spaces), ...parts]), { level: 9 });
}

const unzip = promisify(gunzip);
/** More than the content needs, so that zlib fills one buffer and does not join several. */
const SPARE_BYTES = 64;

/** Unpacks off the event loop's thread, into one buffer that all sections share. */
export async function decodeDataFile(packed: Buffer): Promise<Sections> {
  const unpackedBytes = packed.readUInt32LE(packed.byteLength - 4); // gzip ends with it
  const bytes = await unzip(packed, { chunkSize: unpackedBytes + SPARE_BYTES });
  const bodyStart = 4 + bytes.readUInt32LE(0);
  const header = JSON.parse(bytes.toString("utf8", 4, bodyStart)) as Record<string, [number, number]>;
  return Object.fromEntries(
    Object.entries(header).map(([name, [offset, length]]) => {
      const section = bytes.subarray(bodyStart + offset, bodyStart + offset + length);
      return [name, section.byteOffset % ALIGNMENT === 0 ? section : Uint8Array.from(section)];
    }),
  );
}

export async function readDataFile(name: string): Promise<Sections> {
  return decodeDataFile(await readFile(new URL(name, DIRECTORY)));
}

export function sectionOf(sections: Sections, name: string): Uint8Array {
  const section = sections[name];
  if (section === undefined) throw new Error(`The search data has no section ${name}. Build it again.`);
  return section;
}

/** Returns a section as numbers, without copying. */
export function numbersOf<Numbers>(
  sections: Sections,
  name: string,
  Type: (new (buffer: ArrayBufferLike, byteOffset: number, length: number) => Numbers) & {
    readonly BYTES_PER_ELEMENT: number;
  },
): Numbers {
  const { buffer, byteOffset, byteLength } = sectionOf(sections, name);
  return new Type(buffer, byteOffset, byteLength / Type.BYTES_PER_ELEMENT);
}

/** Returns the bytes of a typed array, without copying. */
export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
