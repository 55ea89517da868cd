/** A small seeded generator (mulberry32): numbers from 0 (inclusive) to 1 (exclusive), the same for the same seed. */
export type SeededRandom = () => number;

export function createRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function pickOne<Item>(items: readonly Item[], random: SeededRandom): Item | undefined {
  return items[Math.floor(random() * items.length)];
}
