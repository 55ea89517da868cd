import { expect, test } from "vitest";
import { tokensOfQuery, weighWords } from "./query-intent.ts";
import { Vocabulary } from "./vocabulary.ts";

const TITLED = "logo email app resume builder coach chess beginner".split(" ");

function weightsOf(query: string, titled: readonly string[] = TITLED): Record<string, number> {
  const vocabulary = new Vocabulary();
  for (const word of titled) vocabulary.set(word, 5, 5);
  const words = tokensOfQuery(query).map((token) => ({ token, reading: { word: token.word } }));
  const weights = weighWords(words, vocabulary);
  return Object.fromEntries(words.map(({ token }, i) => [token.word, weights[i] ?? 0]));
}

test("what a thing is for, about, of, or with counts less than the thing", () => {
  expect(weightsOf("logo for a coffee shop")).toEqual({ logo: 1, coffee: 0.45, shop: 0.45 });
  expect(weightsOf("email about heating")).toEqual({ email: 1, heating: 0.45 });
  expect(weightsOf("logo of a cat with a hat")).toEqual({ logo: 1, cat: 0.45, hat: 0.45 });
});

test("a recipient counts less, but an action counts as much as its object", () => {
  expect(weightsOf("email to my landlord")).toEqual({ email: 1, landlord: 0.45 });
  expect(weightsOf("email to slack")).toEqual({ email: 1, slack: 1 });
});

test("if no title has the thing itself, the context counts in full", () => {
  expect(weightsOf("slogan for a coffee shop")).toEqual({ slogan: 1, coffee: 1, shop: 1 });
});

test("a query that starts with context words has no other context", () => {
  expect(weightsOf("for beginner")).toEqual({ beginner: 1 });
  expect(weightsOf("for chess beginner with logo")).toEqual({ chess: 1, beginner: 1, logo: 0.45 });
});

test("what makes the thing counts less than the thing, unless nothing else is asked for", () => {
  expect(weightsOf("resume builder")).toEqual({ resume: 1, builder: 0.5 });
  expect(weightsOf("builder")).toEqual({ builder: 1 });
  expect(weightsOf("app for chess")).toEqual({ app: 1, chess: 0.45 });
});

test("a quoted word does not start the context", () => {
  expect(weightsOf('email "for" chess')).toEqual({ email: 1, chess: 1 });
});
