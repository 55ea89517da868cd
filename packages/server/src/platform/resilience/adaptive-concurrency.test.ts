import { expect, test } from "vitest";
import { createAdaptiveConcurrency, type AdaptiveConcurrency } from "./adaptive-concurrency.ts";

const SECOND = 1_000;

/** Answers of 100 tokens, as many at once as allowed: `ms` is how long one takes with this many in flight. */
function serve(learned: AdaptiveConcurrency, answers: number, ms: (atOnce: number) => number): number[] {
  const levels = [learned.level];
  for (let answer = 0; answer < answers; answer += 1) {
    const { level } = learned;
    const next = learned.record({ level, ms: ms(level), units: 100 });
    if (next === null) continue;
    learned.adopt(next);
    levels.push(next);
  }
  return levels;
}

const roomFor = (room: number) => (atOnce: number) => SECOND * Math.max(1, atOnce / room);

test("a server with room for everything gets the maximum within 300 answers", () => {
  expect(serve(createAdaptiveConcurrency({ min: 2, max: 64 }), 300, roomFor(1_000))).toEqual([2, 4, 8, 16, 32, 64]);
});

test("a server that does one thing at a time stays at the minimum, and more is tried now and then", () => {
  const levels = serve(createAdaptiveConcurrency({ min: 2, max: 64 }), 1_000, roomFor(1));
  expect(levels.slice(0, 4)).toEqual([2, 4, 2, 4]);
  expect(Math.max(...levels)).toBe(4);
  expect(levels.length).toBeLessThan(30);
});

test.each([4, 8, 16])("a server with room for %i gets that many requests most of the time", (room) => {
  const learned = createAdaptiveConcurrency({ min: 2, max: 64 });
  serve(learned, 1_000, roomFor(room));
  let there = 0;
  for (let answer = 0; answer < 2_000; answer += 1) {
    serve(learned, 1, roomFor(room));
    if (learned.level === room) there += 1;
  }
  expect(there).toBeGreaterThan(1_200);
});

test("a server that slows down under more load gets less again", () => {
  const learned = createAdaptiveConcurrency({ min: 2, max: 64 });
  serve(learned, 300, roomFor(64));
  expect(learned.level).toBe(64);
  serve(learned, 2_000, roomFor(4));
  expect(learned.level).toBeLessThanOrEqual(8);
});

test("long answers are not a sign of load: the time per unit counts, not the total time", () => {
  const learned = createAdaptiveConcurrency({ min: 2, max: 64 });
  for (let answer = 0; answer < 1_000; answer += 1) {
    const units = 10 + answer;
    const next = learned.record({ level: learned.level, ms: 20 * units, units });
    if (next !== null) learned.adopt(next);
  }
  expect(learned.level).toBe(64);
});

test("an overload halves the level at once, but only once for work of the same level", () => {
  const learned = createAdaptiveConcurrency({ min: 2, max: 64 });
  learned.adopt(32);
  const next = learned.recordOverload(32);
  expect(next).toBe(16);
  learned.adopt(16);
  expect(learned.recordOverload(32)).toBeNull();
  expect(learned.level).toBe(16);
});

test("a level that another process found is soon compared with the level below", () => {
  const tooHigh = createAdaptiveConcurrency({ min: 2, max: 64 });
  tooHigh.adopt(64);
  expect(serve(tooHigh, 400, roomFor(1)).slice(0, 6)).toEqual([64, 32, 16, 8, 4, 2]);
  const right = createAdaptiveConcurrency({ min: 2, max: 64 });
  right.adopt(64);
  expect(serve(right, 400, roomFor(64))).toEqual([64, 32, 64]);
});

test("a maximum that is not a power of two is reached, and nothing is learned if minimum and maximum are one", () => {
  expect(serve(createAdaptiveConcurrency({ min: 2, max: 5 }), 100, roomFor(9))).toEqual([2, 4, 5]);
  expect(serve(createAdaptiveConcurrency({ min: 2, max: 1 }), 100, roomFor(9))).toEqual([1]);
  const single = createAdaptiveConcurrency({ min: 2, max: 2 });
  expect(single.recordOverload(2)).toBeNull();
});
