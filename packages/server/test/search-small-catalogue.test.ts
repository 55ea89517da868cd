import { afterAll, beforeAll, expect, test } from "vitest";
import { documentOf, openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

/** Ten prompts, each with a misspelt title and a question that shares no word with title or description. */
const CATALOGUE = [
  ["Recipe generator", "Cooks a dish from ingredients", "recipie generater", "what should the chef cook for dinner"],
  ["Resume reviewer", "Improves a curriculum vitae", "resum reviwer", "applying for a new job"],
  ["SQL query writer", "Turns questions into SQL", "sql qurey writer", "ask a database"],
  ["Travel itinerary planner", "Plans days in a city", "travl itinery", "vacation abroad trip"],
  ["Portrait painter", "Draws people in oil", "portriat paintr", "picture of a face by an artist"],
  ["Geography teacher", "Explains rivers and borders", "geografy techer", "lessons about countries on the globe"],
  ["Workout coach", "Builds a training plan", "workuot coach", "physical exercise and fitness"],
  ["Poem writer", "Verses on any subject", "peom writer", "poetry with rhyme"],
  ["Contract summarizer", "Explains legal clauses", "contrct sumarizer", "lawyer agreement"],
  ["Bedtime story teller", "Stories for small children", "bedtme story", "fairy tale for a kid"],
] as const;

let fixture: SearchFixture;
beforeAll(async () => {
  fixture = await openSearch();
  await fixture.publish(...CATALOGUE.map(([title, description], i) => documentOf(i + 1, title, { description })));
});
afterAll(() => fixture.close());

test.each(CATALOGUE)(
  "among ten prompts %s is first for its title and its misspelt title",
  async (title, _text, typo) => {
    expect((await fixture.titles(title))[0]).toBe(title);
    expect((await fixture.titles(typo))[0]).toBe(title);
  },
);

test("among ten prompts most are first, and nearly all among the first three, for a question in other words", async () => {
  const ranks = await Promise.all(
    CATALOGUE.map(async ([title, , , question]) => (await fixture.titles(question)).indexOf(title)),
  );
  expect(ranks.filter((rank) => rank === 0).length).toBeGreaterThanOrEqual(7);
  expect(ranks.filter((rank) => rank >= 0 && rank < 3).length).toBeGreaterThanOrEqual(9);
});
