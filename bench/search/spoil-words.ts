/** Typing errors by a fixed chance: neighbouring keys, exchanged, missing and doubled letters, unfinished last words. */

const KEYBOARD = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function createDraw(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One word misspelt; every third time the last word is cut short as well or instead. */
export function spoil(words: readonly string[], draw: () => number): string[] {
  const spoilt = [...words];
  const last = words.length - 1;
  const isCut = draw() < 0.33 && (words[last] ?? "").length > 4;
  if (isCut) spoilt[last] = cutShort(words[last] ?? "", draw);
  const at = Math.floor(draw() * words.length);
  if (!isCut || (at !== last && draw() < 0.5)) spoilt[at] = misspell(words[at] ?? "", draw);
  return spoilt;
}

function cutShort(word: string, draw: () => number): string {
  const kept = 3 + Math.floor(draw() * (word.length - 3));
  return word.slice(0, kept);
}

function misspell(word: string, draw: () => number): string {
  const at = 1 + Math.floor(draw() * (word.length - 1));
  const letter = word[at] ?? "";
  const kind = Math.floor(draw() * 4);
  if (kind === 0) return word.slice(0, at) + word.slice(at + 1);
  if (kind === 1) return word.slice(0, at) + letter + word.slice(at);
  if (kind === 2) return word.slice(0, at - 1) + letter + (word[at - 1] ?? "") + word.slice(at + 1);
  return word.slice(0, at) + neighbourOf(letter, draw) + word.slice(at + 1);
}

function neighbourOf(letter: string, draw: () => number): string {
  const row = KEYBOARD.find((keys) => keys.includes(letter)) ?? "";
  const at = row.indexOf(letter);
  const neighbours = [row[at - 1], row[at + 1]].filter((key) => key !== undefined);
  return neighbours[Math.floor(draw() * neighbours.length)] ?? letter;
}
