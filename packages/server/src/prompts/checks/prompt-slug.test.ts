import { expect, test } from "vitest";
import { joinSlug, slugOfTitle } from "./prompt-slug.ts";

test.each([
  ["Tea poem", "tea-poem"],
  ["  What's for lunch?  ", "whats-for-lunch"],
  ["Café crème", "cafe-creme"],
  ["C tutor for kids", "c-tutor-for-kids"],
  ["C++ tutor for kids", "c-plus-plus-tutor-for-kids"],
  ["C# tutor for kids", "c-sharp-tutor-for-kids"],
  [".NET reviewer", "dot-net-reviewer"],
  ["Node.js reviewer ...", "node-js-reviewer"],
  ["2 + 2", "2-2"],
  ["Issue #7", "issue-7"],
])("the slug of %j is %s", (title, slug) => {
  expect(slugOfTitle(title)).toBe(slug);
});

test("titles that differ in letters that a slug cannot have get different slugs", () => {
  const titles = ["写诗助手", "俳句助手", "Tea 詩", "Tea 俳", "Tea", `${"a".repeat(100)}b`, `${"a".repeat(100)}c`];
  const slugs = titles.map(slugOfTitle);
  expect(new Set(slugs).size).toBe(titles.length);
  for (const slug of slugs) expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  for (const slug of slugs) expect(slug.length).toBeLessThanOrEqual(80);
});

test("a suffix fits after the longest slug", () => {
  expect(joinSlug("a".repeat(80), 12)).toBe(`${"a".repeat(77)}-12`);
});
