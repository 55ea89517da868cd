import { afterAll, beforeAll, expect, test } from "vitest";
import { documentOf, openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

/** Ten prompts, each with a misspelled title and a question that shares no word with its title or description. */
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
  "among ten prompts, %s is first for its title and its misspelled title",
  async (title, _text, typo) => {
    expect((await fixture.titles(title))[0]).toBe(title);
    expect((await fixture.titles(typo))[0]).toBe(title);
  },
);

test("among ten prompts, most are first for a question in other words", async () => {
  const ranks = await Promise.all(
    CATALOGUE.map(async ([title, , , question]) => (await fixture.titles(question)).indexOf(title)),
  );
  expect(ranks.filter((rank) => rank === 0).length).toBeGreaterThanOrEqual(7);
  expect(ranks.filter((rank) => rank >= 0 && rank < 3).length).toBeGreaterThanOrEqual(8);
});

/**
 * Twelve prompts in fields that few training prompts cover, each with a query from someone who does not know its words.
 * No query has a synonym, a kind, or a part of a word in its prompt.
 */
const OTHER_FIELDS = [
  ["Sourdough starter diary", "Keeps track of flour and fermentation", "baguette"],
  ["Violin practice log", "Scales and bowing for today", "beethoven"],
  ["Orchard pruning calendar", "When to cut apple trees", "harvest season"],
  ["Sailing weather briefing", "Wind and tides for the skipper", "crossing the atlantic on a yacht"],
  ["Chess opening trainer", "Replies to the first moves", "kasparov"],
  ["Mortgage comparison", "Interest and monthly payments of loans", "refinance a property"],
  ["Dental appointment reminder", "Messages to patients before a checkup", "cavities"],
  ["Wildfire evacuation plan", "Routes and bags for each household", "california firefighters"],
  ["Football match report", "Goals, cards and substitutions", "manchester"],
  ["Cathedral tour guide", "Naves, vaults and stained glass", "gothic bishops"],
  ["Beehive inspection notes", "Queen, brood and mites", "pollination"],
  ["Marathon pace table", "Splits for each kilometre", "olympic sprint"],
] as const;

test("of twelve prompts in other fields, the right one is found by a question without a common word", async () => {
  const other = await openSearch();
  try {
    await other.publish(...OTHER_FIELDS.map(([title, description], i) => documentOf(i + 1, title, { description })));
    const ranks = await Promise.all(
      OTHER_FIELDS.map(async ([title, , question]) => (await other.titles(question)).indexOf(title)),
    );
    expect(ranks.filter((rank) => rank === 0).length).toBeGreaterThanOrEqual(8);
    expect(ranks.filter((rank) => rank >= 0 && rank < 3).length).toBeGreaterThanOrEqual(10);
  } finally {
    await other.close();
  }
});
