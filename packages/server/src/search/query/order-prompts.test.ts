import { expect, test, vi } from "vitest";
import { orderPrompts } from "./order-prompts.ts";

const scored = (...scores: [promptId: string, score: number][]) =>
  scores.map(([promptId, score]) => ({ promptId, score }));
const popularity = (entries: Readonly<Record<string, readonly [uses: number, upVotes: number]>>) =>
  vi.fn(async () => new Map(Object.entries(entries).map(([id, [uses, upVotes]]) => [id, { uses, upVotes }])));

test("between equal scores more uses come first, then more votes, then the smaller id", async () => {
  const popularityOf = popularity({ a: [1, 9], b: [5, 0], c: [5, 2], d: [0, 0] });
  const ranked = scored(["x", 2], ["a", 1], ["b", 1], ["c", 1], ["e", 1], ["d", 1]);
  expect(await orderPrompts(ranked, 9, popularityOf)).toEqual(["x", "c", "b", "a", "d", "e"]);
});

test("popularity lifts nothing over a better score", async () => {
  expect(await orderPrompts(scored(["a", 1.000001], ["b", 1]), 2, popularity({ b: [1e6, 1e6] }))).toEqual(["a", "b"]);
});

test("a tie that the limit cuts is decided before it is cut", async () => {
  const ranked = scored(["a", 2], ["b", 1], ["c", 1]);
  expect(await orderPrompts(ranked, 2, popularity({ c: [1, 0] }))).toEqual(["a", "c"]);
});

test("without a tie nobody is asked", async () => {
  const popularityOf = popularity({});
  expect(await orderPrompts(scored(["b", 2], ["a", 1]), 20, popularityOf)).toEqual(["b", "a"]);
  expect(popularityOf).not.toHaveBeenCalled();
});

test("without popularity the ids decide, so the same query gives the same answer", async () => {
  expect(await orderPrompts(scored(["b", 1], ["a", 1]), 20, undefined)).toEqual(["a", "b"]);
});
