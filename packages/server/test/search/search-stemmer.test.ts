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

/** PostgreSQL 15 still makes these `ad` and `eg`, like the abbreviations; 18 does not, and neither do we. */
const KEPT_DOUBLE = /^(add|egg|off|err|ebb|odd)(ed|ing)$/;

test("every word of the corpus has the stem that PostgreSQL's English stemmer gives it", async () => {
  const words = new Set(
    readCorpus().flatMap(
      ({ title, description, text }) => `${title} ${description} ${text ?? ""}`.toLowerCase().match(/[a-z]+/g) ?? [],
    ),
  );
  // Its dictionary of the same name drops stop words first; the comparison is about stems.
  const rows = await fixture.db.query<{ word: string; stem: string }>(
    `select word, (ts_lexize('english_stem', word))[1] as stem from unnest($1::text[]) as w (word)
     where ts_lexize('english_stem', word) <> '{}'`,
    [[...words]],
  );
  expect(rows.length).toBeGreaterThan(20_000);
  const different = rows.filter(({ word, stem }) => stemEnglish(word) !== stem);
  expect(different.filter(({ word }) => !KEPT_DOUBLE.test(word))).toEqual([]);
}, 60_000);
