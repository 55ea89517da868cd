import { afterAll, beforeAll, expect, test } from "vitest";
import { documentOf, openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

const CATALOGUE = [
  "Kubernetes incident handbook",
  "Kubernetes manifest linter",
  "Accessibility statement",
  "GPT-4o vision helper",
  "B2B sales coach",
  "B2C sales coach",
  "Kitten names",
  "日本語の俳句",
  "كاتب قصائد",
  "Microsoft Office slides coach",
  "写诗助手",
  "古诗词赏析",
  "猫 photo captions",
  "Café crème menu",
  "Sales + marketing: a #plan",
];

let fixture: SearchFixture;
beforeAll(async () => {
  fixture = await openSearch();
  await fixture.publish(...CATALOGUE.map((title, i) => documentOf(i + 1, title)));
});
afterAll(() => fixture.close());

const first = async (query: string) => (await fixture.titles(query))[0];

test("a numeronym finds the whole word", async () => {
  expect((await fixture.titles("k8s")).slice(0, 2).toSorted()).toEqual([
    "Kubernetes incident handbook",
    "Kubernetes manifest linter",
  ]);
  expect(await first("a11y")).toBe("Accessibility statement");
});

test("names that mix letters and digits are found joined and split, and stay distinct", async () => {
  for (const query of ["gpt4o", "gpt-4o", "GPT 4o"]) expect(await first(query), query).toBe("GPT-4o vision helper");
  expect(await first("b2b")).toBe("B2B sales coach");
  expect(await first("b2c")).toBe("B2C sales coach");
});

test("a single character of a script without spaces finds titles that have it, even inside words", async () => {
  expect((await fixture.titles("诗")).toSorted()).toEqual(["写诗助手", "古诗词赏析"]);
  expect(await fixture.titles('"诗"')).toHaveLength(2);
  expect(await fixture.titles("猫")).toEqual(["猫 photo captions"]);
  expect(await fixture.titles("手")).toEqual(["写诗助手"]);
  expect(await fixture.titles("犬")).toEqual([]);
});

test("a title is found first without its spaces, signs, and accents", async () => {
  for (const [query, title] of [
    ["cafecrememenu", "Café crème menu"],
    ["salesmarketingaplan", "Sales + marketing: a #plan"],
    ["Sales marketing a plan", "Sales + marketing: a #plan"],
    ["KittenNames", "Kitten names"],
    ["写诗 助手", "写诗助手"],
  ] as const) {
    expect(await first(query), query).toBe(title);
  }
});

test("prompts in another script are not found for unrelated English words", async () => {
  for (const query of ["powerpoint", '"powerpoint"', '"recipe"', "database", "poem", "logo", "travel", "email"]) {
    const found = await fixture.titles(query);
    for (const title of ["日本語の俳句", "كاتب قصائد"]) expect(found, query).not.toContain(title);
  }
  expect(await first("俳句")).toBe("日本語の俳句");
});

test("two words that form one word when joined have its meaning, even if no prompt has that word", async () => {
  const joined = await fixture.titles("powerpoint");
  expect(joined).toContain("Microsoft Office slides coach");
  for (const query of ["power point", "power-point"]) {
    expect(await fixture.titles(query), query).toContain("Microsoft Office slides coach");
  }
});
