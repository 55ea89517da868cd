/** A sorted list of ASCII or UTF-8 words in one buffer, instead of tens of thousands of objects. */
import { bytesOf, numbersOf, sectionOf, type Sections } from "./data-file.ts";

export interface WordList {
  readonly length: number;
  /** Position of the word, or -1. */
  find(word: string): number;
  at(position: number): string;
}

/** `words` must be in byte order, which for UTF-8 is code-point order. */
export function encodeWordList(name: string, words: readonly string[]): Record<string, Uint8Array> {
  const encoded = words.map((word) => Buffer.from(word));
  const offsets = new Uint32Array(words.length + 1);
  for (const [i, bytes] of encoded.entries()) {
    const previous = encoded[i - 1];
    if (previous !== undefined && Buffer.compare(previous, bytes) >= 0)
      throw new Error(`${name} is not in byte order.`);
    offsets[i + 1] = (offsets[i] as number) + bytes.byteLength;
  }
  return { [`${name}Text`]: Buffer.concat(encoded), [`${name}Offsets`]: bytesOf(offsets) };
}

export function decodeWordList(name: string, sections: Sections): WordList {
  const { buffer, byteOffset, byteLength } = sectionOf(sections, `${name}Text`);
  const text = Buffer.from(buffer, byteOffset, byteLength);
  const offsets = numbersOf(sections, `${name}Offsets`, Uint32Array);
  const start = (position: number) => offsets[position] as number;
  const length = offsets.length - 1;
  return {
    length,
    at: (position) => text.toString("utf8", start(position), start(position + 1)),
    find: (word) => {
      const wanted = Buffer.from(word);
      let low = 0;
      let high = length - 1;
      while (low <= high) {
        const middle = (low + high) >>> 1;
        const order = text.compare(wanted, 0, wanted.byteLength, start(middle), start(middle + 1));
        if (order === 0) return middle;
        if (order < 0) low = middle + 1;
        else high = middle - 1;
      }
      return -1;
    },
  };
}
