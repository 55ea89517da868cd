/**
 * Archives in ustar format (POSIX.1-1988), written while they are read: an entry must know its size, but not its bytes.
 */
import type { Readable } from "node:stream";

export interface TarEntry {
  /** Path in the archive, with only ASCII letters, digits, and ./-_ characters. */
  readonly name: string;
  /** Size of the content, in bytes. */
  readonly size: number;
  readonly content: Iterable<Uint8Array> | AsyncIterable<Uint8Array> | Readable;
}

const BLOCK = 512;
const NAME_MAX = 100;
const PREFIX_MAX = 155;
const NAME = /^[\w./-]+$/;

/** @throws Error if an entry provides more or fewer bytes than it announced: nothing after it would be readable. */
export async function* writeTar(entries: AsyncIterable<TarEntry>, atSeconds: number): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    yield headerOf(entry, atSeconds);
    let written = 0;
    for await (const part of entry.content as AsyncIterable<Uint8Array>) {
      written += part.length;
      yield part;
    }
    if (written !== entry.size) throw new Error(`${entry.name} has ${written} bytes, ${entry.size} were announced.`);
    yield Buffer.alloc((BLOCK - (written % BLOCK)) % BLOCK);
  }
  yield Buffer.alloc(2 * BLOCK);
}

function headerOf({ name, size }: TarEntry, atSeconds: number): Buffer {
  const [prefix, rest] = split(name);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, "0")}\0`;
  header.write(rest, 0);
  header.write(octal(0o600, 8), 100);
  header.write(octal(0, 8), 108); // owner and group: the person who unpacks it
  header.write(octal(0, 8), 116);
  header.write(octal(size, 12), 124);
  header.write(octal(Math.floor(atSeconds), 12), 136);
  header.write("        ", 148); // the checksum is computed with blanks in its own field
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** A long path is stored in two fields, split at a slash. */
function split(name: string): readonly [prefix: string, rest: string] {
  if (!NAME.test(name)) throw new Error(`"${name}" is not a valid archive path.`);
  if (name.length <= NAME_MAX) return ["", name];
  const at = name.indexOf("/", name.length - NAME_MAX - 1);
  if (at <= 0 || at > PREFIX_MAX) throw new Error(`The path ${name} is too long for an archive.`);
  return [name.slice(0, at), name.slice(at + 1)];
}
