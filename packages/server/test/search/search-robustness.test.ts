import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anyCodePoint } from "../support/any-code-point.ts";
import { documentOf, openSearch, promptId } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

const CATALOGUE = [
  documentOf(1, "C++ code reviewer", { description: "Finds memory leaks" }),
  documentOf(2, "C# code reviewer", { description: "Knows .NET" }),
  documentOf(3, "日本語の先生", { description: "日本語を教える" }),
  documentOf(4, "معلم العربية", { description: "درس اللغة" }),
  documentOf(5, "Café menu writer"),
  documentOf(6, "What If", { description: "Alternate history stories" }),
  documentOf(7, "100% discount banner", { description: "price_tag \\ back {slash}" }),
  documentOf(8, "Rocket launch 🚀 announcement"),
  documentOf(9, "Choir leader"),
  documentOf(10, "Choir leader for choir leaders who lead choirs", { description: "choir leader choir leader" }),
  documentOf(11, "R tutor"),
  documentOf(12, "İstanbul şehir rehberi"),
  documentOf(13, "Choir leader", { description: "the second of this title" }),
];

let fixture: SearchFixture;
beforeAll(async () => {
  fixture = await openSearch();
  await fixture.publish(...CATALOGUE);
});
afterAll(() => fixture.close());

const first = async (query: string) => (await fixture.titles(query))[0];

test("c++ and c# find their own prompts", async () => {
  expect(await first("c++")).toBe("C++ code reviewer");
  expect(await first("c#")).toBe("C# code reviewer");
  expect(await first("c++ code")).toBe("C++ code reviewer");
  expect(await first(".net")).toBe("C# code reviewer");
});

test("c++ finds prompts for it first, then at most prompts that are close in meaning", async () => {
  const other = await openSearch();
  await other.publish(
    documentOf(1, "Compiler warnings", { tags: ["c++"] }),
    documentOf(2, "C# tutor"),
    documentOf(3, "C tutor"),
    documentOf(4, "Memory leak finder", { description: "For C++ programs" }),
    documentOf(5, "Choir leader"),
    documentOf(6, "Cat names"),
    documentOf(7, "Cake baker"),
  );
  const found = await other.titles("c++");
  expect(found.slice(0, 2).toSorted()).toEqual(["Compiler warnings", "Memory leak finder"]);
  for (const title of ["C tutor", "Choir leader", "Cat names", "Cake baker"]) expect(found).not.toContain(title);
  expect((await other.titles("c#"))[0]).toBe("C# tutor");
  await other.close();
});

test("three letters that many words start with are not enough to show them", async () => {
  const other = await openSearch();
  await other.publish(documentOf(1, "GPU rental desk"), documentOf(2, "Zqx sales coach"));
  for (const query of ['"gpt"', '"zqv"']) expect(await other.titles(query), query).toEqual([]);
  await other.close();
});

test("the exact title is first, whatever else has more of its words", async () => {
  expect(await first("choir leader")).toBe("Choir leader");
  expect(await first("  CHOIR   LEADER ")).toBe("Choir leader");
  for (const { title } of CATALOGUE) expect(await first(title)).toBe(title);
});

test("two prompts with exactly the same title both come first", async () => {
  expect((await fixture.search.find("choir leader", 20)).slice(0, 2).toSorted()).toEqual([promptId(9), promptId(13)]);
});

test("a title of only stop words is found by itself and by its beginning", async () => {
  expect(await first("what if")).toBe("What If");
  expect(await first("what i")).toBe("What If");
  expect(await fixture.titles("the of and")).toEqual([]);
});

test("a single letter finds the title that has it as a word", async () => {
  expect(await fixture.titles("r")).toEqual(["R tutor"]);
});

test("queries in other scripts work", async () => {
  expect(await first("日本語")).toBe("日本語の先生");
  expect(await first("العربية")).toBe("معلم العربية");
  expect(await first("istanbul")).toBe("İstanbul şehir rehberi");
});

test("an accent may be omitted, typed as a separate character, or written in capitals", async () => {
  for (const query of ["cafe menu", "cafe\u0301 menu", "CAFÉ menu"])
    expect(await first(query)).toBe("Café menu writer");
});

test("emoji find a title that contains them, and nothing else", async () => {
  expect(await fixture.titles("🚀")).toEqual(["Rocket launch 🚀 announcement"]);
  expect(await fixture.titles("🎉")).toEqual([]);
});

test("nonsense finds nothing", async () => {
  for (const query of ["asdfqwer zxcv", "qwxzv", "\ud800", "{}", "\\\\", "'\";--"]) {
    expect(await fixture.titles(query), query).toEqual([]);
  }
});

test("characters of SQL and patterns are text", async () => {
  for (const query of ["%", "_", "%_\\", "'; drop table search_docs; --", "choir' or '1'='1", "$1", "&|!:*"]) {
    const found = await fixture.titles(query);
    const isTextOfIt = (title: string) => /choir|%|_|table|drop|search/i.test(title);
    expect(
      found.filter((title) => !isTextOfIt(title)),
      query,
    ).toEqual([]);
  }
  expect((await fixture.db.query("select from search_docs")).length).toBe(CATALOGUE.length);
  expect(await first("100%")).toBe("100% discount banner");
  expect(await fixture.titles("%")).toEqual(["100% discount banner"]);
});

test("a quoted word is neither corrected nor expanded", async () => {
  expect(await fixture.titles("chior")).toContain("Choir leader");
  expect((await fixture.search.find('"zrocket"', 20)).length).toBe(0);
});

test("the same query gives the same result", async () => {
  for (const query of ["choir leader writer", "code", "leader"]) {
    expect(await fixture.titles(query)).toEqual(await fixture.titles(query));
  }
});

test("a long token, a hundred tokens, and 200 four-byte characters are answered", async () => {
  for (const query of [
    "x".repeat(200),
    "𐍈".repeat(200),
    "a ".repeat(100).trim(),
    "zq ".repeat(66),
    "chior ".repeat(28),
  ]) {
    expect((await fixture.search.find(query, 20)).length).toBeLessThanOrEqual(20);
  }
});

test("any query finds at most 20 published prompts, none twice", async () => {
  const ids = new Set(CATALOGUE.map((document) => document.promptId));
  const word = fc.constantFrom("choir", "code", "c++", '"', "日本", "🚀", "the", "reviewr", "%", "\\", "'");
  const query = fc.oneof(
    fc.string({ unit: anyCodePoint, maxLength: 200 }),
    fc.array(word, { maxLength: 30 }).map((words) => words.join(" ")),
  );
  await fc.assert(
    fc.asyncProperty(query, async (q) => {
      const found = await fixture.search.find(q, 20);
      expect(found.length).toBeLessThanOrEqual(20);
      expect(new Set(found).size).toBe(found.length);
      for (const id of found) expect(ids.has(id)).toBe(true);
    }),
    { numRuns: 150 },
  );
});

test("search works in an empty catalogue and in one with a single prompt", async () => {
  const empty = await openSearch();
  expect(await empty.titles("choir")).toEqual([]);
  expect(await empty.titles("🚀")).toEqual([]);
  await empty.publish(documentOf(1, "Choir leader"));
  expect(await empty.titles("chor")).toEqual(["Choir leader"]);
  await empty.close();
});
