import { afterAll, beforeAll, expect, test } from "vitest";
import type { Tx } from "../../src/platform/database/database.ts";
import { codeOf } from "../../src/platform/reason-of.ts";
import { documentOf, openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

const QUERY_CANCELED = "57014";

let fixture: SearchFixture;
beforeAll(async () => {
  fixture = await openSearch({ wordsTimeoutMs: 200 });
  await fixture.publish(
    documentOf(1, "Recipe writer", { description: "Cooks dinner from what is in the kitchen" }),
    documentOf(2, "River cruise planner"),
    documentOf(3, "Meal plan for a family"),
    documentOf(4, "كاتب قصائد"),
  );
  await fixture.search.warm();
});
afterAll(() => fixture.close());

/** Meanwhile, every word search waits, as for a slow statement. */
function whileWordsAreSlow<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return fixture.db.tx(async (tx) => {
    await tx.query("lock table search_postings in access exclusive mode");
    return work(tx);
  });
}

test("a query whose words take the database too long is answered by meaning and titles", async () => {
  const found = await whileWordsAreSlow(() => fixture.search.find("recipe for dinner", 20));
  expect(found.length).toBeGreaterThan(0);
  expect(found[0]).toBe((await fixture.search.find("recipe writer", 1))[0]);
  const exact = await whileWordsAreSlow(() => fixture.search.find("river cruise planner", 1));
  expect(exact).toEqual(await fixture.search.find("river cruise planner", 1));
});

test("many such queries at once are all answered, even without a free connection", async () => {
  const answers = await whileWordsAreSlow(() =>
    Promise.all(Array.from({ length: 12 }, () => fixture.search.find("recipe for dinner", 20))),
  );
  for (const answer of answers) expect(answer.length).toBeGreaterThan(0);
});

test("a query that only its words could answer fails, instead of reporting that no such prompt exists", async () => {
  const error = await whileWordsAreSlow(() => fixture.search.find("قصائد", 20).catch((cause: unknown) => cause));
  expect(codeOf(error)).toBe(QUERY_CANCELED);
  expect(await fixture.search.find("قصائد", 20)).toHaveLength(1);
});
