import { afterAll, beforeAll, expect, test } from "vitest";
import { readCorpus } from "../../../../bench/search/evaluation-data.ts";
import { stemEnglish } from "../../src/search/text/analyser.ts";
import { openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

let fixture: SearchFixture;
beforeAll(async () => {
  fixture = await openSearch();
});
afterAll(() => fixture.close());

/** PostgreSQL 15 still stems these to `ad` and `eg`, like the abbreviations; 18 does not, and neither does promptd. */
const KEPT_DOUBLE = /^(add|egg|off|err|ebb|odd)(ed|ing)$/;

test("every word in the corpus has the same stem as with PostgreSQL's English stemmer", async () => {
  const words = new Set(
    readCorpus().flatMap(
      ({ title, description, text }) => `${title} ${description} ${text ?? ""}`.toLowerCase().match(/[a-z]+/g) ?? [],
    ),
  );
  // The dictionary of the same name drops stop words first, but this test compares stems.
  const rows = await fixture.db.query<{ word: string; stem: string }>(
    `select word, (ts_lexize('english_stem', word))[1] as stem from unnest($1::text[]) as w (word)
     where ts_lexize('english_stem', word) <> '{}'`,
    [[...words]],
  );
  expect(rows.length).toBeGreaterThan(20_000);
  const different = rows.filter(({ word, stem }) => stemEnglish(word) !== stem);
  expect(different.filter(({ word }) => !KEPT_DOUBLE.test(word))).toEqual([]);
});
