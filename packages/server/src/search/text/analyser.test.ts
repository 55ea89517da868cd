import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anyCodePoint } from "../../../test/support/any-code-point.ts";
import { contentTokens, titleKey, tokenize } from "./analyser.ts";

const words = (text: string) => tokenize(text).map(({ word }) => word);
const terms = (text: string) => contentTokens(text).map(({ term }) => term);

test("c++, c#, and c are three different words", () => {
  expect(words("C++ and C# for cc")).toEqual(["c++", "and", "c#", "for", "cc"]);
});

test("a compound is found by its parts and as a whole", () => {
  expect(words("Node.js gpt-4o tic-tac-toe e-mail")).toEqual([
    "nodejs",
    "node",
    "js",
    "gpt4o",
    "gpt",
    "4o",
    "tictactoe",
    "tic",
    "tac",
    "toe",
    "email",
    "mail",
  ]);
  expect(words("C# .NET expert, in .NET.")).toEqual(["c#", ".net", "expert", "in", ".net"]);
});

test("numbers and letters that belong together stay together", () => {
  expect(words("3D python3 2024 x 7")).toEqual(["3d", "python3", "2024"]);
  expect(words("K8s B2B a11y GPT4o h2o")).toEqual(["k8s", "b2b", "a11y", "gpt4o", "h2o"]);
});

test("a word that starts after the digits of another is found by itself and as a part", () => {
  expect(words("gpt4turbo web3")).toEqual(["gpt4turbo", "gpt4", "turbo", "web3"]);
});

test("scripts without spaces become pairs of characters, and a single character stays", () => {
  expect(words("日本語 猫")).toEqual(["日本", "本語", "猫"]);
  expect(words("ภาษาไทย").length).toBeGreaterThan(3);
  expect(words("한국어 검색")).toEqual(["한국", "국어", "검색"]);
});

test("accents do not matter in Latin words, but do in other scripts", () => {
  expect(words("cafe\u0301 café Café")).toEqual(["cafe", "cafe", "cafe"]);
  expect(words("İstanbul IŞIK")).toEqual(["istanbul", "isik"]);
  expect(words("ёлка")).toEqual(["ёлка"]);
  expect(words("العربية")).toEqual(["العربية"]);
});

test("an apostrophe does not split a word, and a possessive ending is dropped", () => {
  expect(words("children's don't L’Oréal’s")).toEqual(["children", "dont", "loreal"]);
});

test("request words and grammatical words carry no meaning", () => {
  expect(terms("please help me make something like a running plan")).toEqual(["run", "plan"]);
  expect(terms("what is the")).toEqual([]);
});

test("a word in double quotes and the last word are marked", () => {
  const tokens = tokenize('"exact words" rest ');
  expect(tokens.map(({ isQuoted }) => isQuoted)).toEqual([true, true, false]);
  expect(tokens.map(({ isLast }) => isLast)).toEqual([false, false, true]);
  expect(tokenize("ends with a sign!").some(({ isLast }) => isLast)).toBe(false);
});

test("titles are the same if only case, width, and white space differ", () => {
  expect(titleKey("  River\u00a0 Cruise\n")).toBe(titleKey("river cruise"));
  expect(titleKey("Ｒiver cruise")).toBe("river cruise");
  expect(titleKey("C++")).not.toBe(titleKey("C#"));
});

test("any text becomes well-formed, non-empty tokens, always the same", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint, maxLength: 200 }), (text) => {
      const tokens = tokenize(text);
      expect(tokens).toEqual(tokenize(text));
      for (const { word, term } of tokens) {
        expect(word.isWellFormed()).toBe(true);
        expect(word.includes("\0")).toBe(false);
        expect(term.length).toBeGreaterThan(0);
      }
    }),
  );
});

test("a lone surrogate and emoji are not words", () => {
  expect(words("\ud800 🎉🎉")).toEqual([]);
});
