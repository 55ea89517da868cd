import { expect, test } from "vitest";
import { stemEnglish } from "./stemmer.ts";

/** From the published description of the algorithm: one word at least for every step and exception. */
const STEMS: Readonly<Record<string, string>> = {
  caresses: "caress",
  ties: "tie",
  cries: "cri",
  gas: "gas",
  kiwis: "kiwi",
  agreed: "agre",
  luxuriating: "luxuri",
  hopping: "hop",
  added: "add",
  egging: "egg",
  hoping: "hope",
  say: "say",
  cry: "cri",
  youthful: "youth",
  relational: "relat",
  hopefulness: "hope",
  generation: "generat",
  generously: "generous",
  communism: "communism",
  replacement: "replac",
  adoption: "adopt",
  rate: "rate",
  controlling: "control",
  skies: "sky",
  dying: "die",
  news: "news",
  inning: "inning",
  exceeding: "exceed",
  "user's": "user",
  "c++": "c++",
  ab: "ab",
  naïve: "naïve",
};

test.each(Object.entries(STEMS))("%s -> %s", (word, stem) => {
  expect(stemEnglish(word)).toBe(stem);
});
