import { expect, test, vi } from "vitest";
import { fuse, orderPrompts, type DenseEvidence, type Evidence } from "./fusion.ts";

const WEIGHTS = { lexical: 0.5, dense: 1.2, title: 0.6 };
const NOTHING: Evidence = {
  lexical: [],
  idealLexical: 0,
  certainty: 1,
  dense: null,
  titles: new Map(),
  areTitlesTelling: true,
};
const hit = (doc: number, score: number, isDirect = true) => ({ doc, score, isDirect });
const near = (doc: number, cosine: number, ownCosine = cosine) => ({ doc, cosine, ownCosine });

function denseOf(neighbors: DenseEvidence["neighbors"], more: Partial<DenseEvidence> = {}): DenseEvidence {
  return { neighbors, coverage: 1, cosineMin: 0.2, weights: WEIGHTS, ...more };
}
const order = (evidence: Partial<Evidence>) => fuse({ ...NOTHING, ...evidence }).map(({ doc }) => doc);

test("without meaning, words decide and the title's letters settle the rest", () => {
  expect(order({ lexical: [hit(1, 4), hit(2, 3.9)], titles: new Map([[2, 1]]) })).toEqual([2, 1]);
});

test("meaning finds a document that shares no word", () => {
  expect(order({ lexical: [hit(1, 1)], idealLexical: 10, dense: denseOf([near(2, 0.8)]) })).toEqual([2, 1]);
});

test("a document with one word of four does not outrank the nearest in meaning, but one with all four does", () => {
  const dense = denseOf([near(2, 0.6), near(1, 0.3)]);
  expect(order({ lexical: [hit(1, 2)], idealLexical: 20, dense })[0]).toBe(2);
  expect(order({ lexical: [hit(1, 20)], idealLexical: 20, dense, titles: new Map([[1, 1]]) })[0]).toBe(1);
});

test("a document that only an expansion found, without support by meaning, is not shown", () => {
  expect(order({ lexical: [hit(1, 3, false), hit(2, 2)] })).toEqual([2]);
});

test("a distant neighbor alone is not shown, even if feedback raised its score", () => {
  expect(order({ dense: denseOf([near(1, 0.9, 0.1), near(2, 0.5, 0.25)]) })).toEqual([2]);
});

test("a similar title is enough on its own if the query has enough letters, and otherwise only ranks", () => {
  const evidence = {
    lexical: [hit(2, 2), hit(3, 2)],
    titles: new Map([
      [1, 0.6],
      [3, 0.6],
    ]),
  };
  expect(order(evidence)).toEqual([3, 2, 1]);
  expect(order({ ...evidence, areTitlesTelling: false })).toEqual([3, 2]);
});

test("an embedder that knows none of the query's words has no influence", () => {
  const evidence = {
    lexical: [hit(1, 2), hit(2, 1)],
    idealLexical: 4,
    dense: denseOf([near(2, 0.9)], { coverage: 0 }),
  };
  expect(order(evidence)).toEqual([1, 2]);
});

test("no evidence gives an empty ranking", () => {
  expect(fuse(NOTHING)).toEqual([]);
});

test("equal evidence is ordered by document, so the order is always the same", () => {
  const lexical = [hit(9, 1), hit(3, 1), hit(5, 1 + 1e-9)];
  expect(order({ lexical })).toEqual([3, 5, 9]);
});

test("a negative cosine neither helps nor harms", () => {
  const dense = denseOf([near(1, -0.4), near(2, -0.5)]);
  expect(order({ lexical: [hit(2, 2), hit(1, 1)], idealLexical: 2, dense })).toEqual([2, 1]);
});

test("letters decide for guessed words, and meaning for words as written", () => {
  const evidence = {
    lexical: [hit(1, 10)],
    idealLexical: 10,
    dense: denseOf([near(2, 0.8), near(1, 0.1)], { coverage: 0.9 }),
    titles: new Map([[1, 0.5]]),
  };
  expect(order({ ...evidence, certainty: 1 })[0]).toBe(2);
  expect(order({ ...evidence, certainty: 0.3 })[0]).toBe(1);
});

const scored = (...scores: [promptId: string, score: number][]) =>
  scores.map(([promptId, score]) => ({ promptId, score }));
const popularity = (entries: Readonly<Record<string, readonly [uses: number, upVotes: number]>>) =>
  vi.fn(async () => new Map(Object.entries(entries).map(([id, [uses, upVotes]]) => [id, { uses, upVotes }])));

test("equal scores are ordered by more uses, then more votes, then the smaller id", async () => {
  const popularityOf = popularity({ a: [1, 9], b: [5, 0], c: [5, 2], d: [0, 0] });
  const ranked = scored(["x", 2], ["a", 1], ["b", 1], ["c", 1], ["e", 1], ["d", 1]);
  expect(await orderPrompts(ranked, 9, popularityOf)).toEqual(["x", "c", "b", "a", "d", "e"]);
});

test("popularity never lifts a prompt over a better score", async () => {
  expect(await orderPrompts(scored(["a", 1.000001], ["b", 1]), 2, popularity({ b: [1e6, 1e6] }))).toEqual(["a", "b"]);
});

test("a tie at the limit is broken before the cut", async () => {
  const ranked = scored(["a", 2], ["b", 1], ["c", 1]);
  expect(await orderPrompts(ranked, 2, popularity({ c: [1, 0] }))).toEqual(["a", "c"]);
});

test("popularity is not read without a tie", async () => {
  const popularityOf = popularity({});
  expect(await orderPrompts(scored(["b", 2], ["a", 1]), 20, popularityOf)).toEqual(["b", "a"]);
  expect(popularityOf).not.toHaveBeenCalled();
});

test("without popularity, the ids decide, so the same query gives the same result", async () => {
  expect(await orderPrompts(scored(["b", 1], ["a", 1]), 20, undefined)).toEqual(["a", "b"]);
});
