import { expect, test } from "vitest";
import { findLiterally, scoreTitles } from "./title-similarity.ts";
import { createTimeSlice } from "../../platform/time-slice.ts";

const documents = (...titles: string[]) => titles.map((title, doc) => ({ doc, promptId: "", title, len: 1 }));
/** Other work runs after each check. */
const impatient = { ...createTimeSlice(), isOver: () => true };

test("titles with c++ and c# are not similar", async () => {
  const { titles } = await scoreTitles(
    { forms: ["c++"] },
    documents("C# tutor", "C++ tutor", "Choir leader"),
    createTimeSlice(),
  );
  expect([...titles.keys()]).toEqual([1]);
});

test("for a query with few letters, a similar title is not enough to show a prompt", async () => {
  for (const [query, isTelling] of [
    ["c++", false],
    ["gpt", false],
    ["ai art", false],
    ["query", true],
    ["art ideas", true],
  ] as const) {
    expect((await scoreTitles({ forms: [query] }, documents("Quest"), createTimeSlice())).isTelling, query).toBe(
      isTelling,
    );
  }
});

test("other work runs between two titles", async () => {
  let yields = 0;
  const counted = { isOver: () => true, yieldToEventLoop: async () => void (yields += 1) };
  await scoreTitles({ forms: ["river"] }, documents("River", "Cruise", "Slow river"), counted);
  expect(yields).toBe(3);
});

test("a title that is set again while titles are read is found once", async () => {
  const titles = new Map(Array.from({ length: 100 }, (_, i) => [`what if ${i}`, new Set([i])]));
  const found = findLiterally("what", titles, impatient);
  const again = titles.get("what if 3") ?? new Set();
  titles.delete("what if 3");
  titles.set("what if 3", again);
  expect((await found).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test("of more titles than can be ranked, the shortest are chosen, in any position", async () => {
  const titles = new Map(Array.from({ length: 900 }, (_, i) => [`what ${"x".repeat(900 - i)}`, new Set([i])]));
  titles.set("what all of them have", new Set(Array.from({ length: 300_000 }, (_, i) => 1_000 + i)));
  const found = await findLiterally("what", titles, createTimeSlice());
  expect(found).toHaveLength(200);
  for (const doc of [899, 890, 884]) expect(found).toContain(doc);
  expect(found).not.toContain(600);
});
