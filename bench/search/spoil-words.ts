/** Typing errors at a fixed rate: neighboring keys, swapped, missing, and doubled letters, unfinished last words. */

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

/** Misspells one word. In a third of the cases, the last word is also, or instead, cut short. */
export function spoil(words: readonly string[], draw: () => number): string[] {
  const misspelled = [...words];
  const last = words.length - 1;
  const isCut = draw() < 0.33 && (words[last] ?? "").length > 4;
  if (isCut) misspelled[last] = cutShort(words[last] ?? "", draw);
  const at = Math.floor(draw() * words.length);
  if (!isCut || (at !== last && draw() < 0.5)) misspelled[at] = misspell(words[at] ?? "", draw);
  return misspelled;
}

function cutShort(word: string, draw: () => number): string {
  const length = 3 + Math.floor(draw() * (word.length - 3));
  return word.slice(0, length);
}

function misspell(word: string, draw: () => number): string {
  const at = 1 + Math.floor(draw() * (word.length - 1));
  const letter = word[at] ?? "";
  const kind = Math.floor(draw() * 4);
  if (kind === 0) return word.slice(0, at) + word.slice(at + 1);
  if (kind === 1) return word.slice(0, at) + letter + word.slice(at);
  if (kind === 2) return word.slice(0, at - 1) + letter + (word[at - 1] ?? "") + word.slice(at + 1);
  return word.slice(0, at) + neighborOf(letter, draw) + word.slice(at + 1);
}

function neighborOf(letter: string, draw: () => number): string {
  const row = KEYBOARD.find((keys) => keys.includes(letter)) ?? "";
  const at = row.indexOf(letter);
  const neighbors = [row[at - 1], row[at + 1]].filter((key) => key !== undefined);
  return neighbors[Math.floor(draw() * neighbors.length)] ?? letter;
}
