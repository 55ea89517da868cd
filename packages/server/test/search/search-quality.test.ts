import { afterAll, beforeAll, expect, test } from "vitest";
import { JUDGMENT_SETS, readCorpus, readJudgments } from "../../../../bench/search/evaluation-data.ts";
import { createOwnSearch, indexCorpus, type OwnSearch } from "../../../../bench/search/own-systems.ts";
import { checkGate, hashInputs, readStored, readStoredPeers } from "../../../../bench/search/quality-gate.ts";
import { measure } from "../../../../bench/search/quality-report.ts";
import { listMissedTitles } from "./missed-titles.ts";
import { openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

const corpus = readCorpus();

let fixture: SearchFixture;
let own: OwnSearch;
beforeAll(async () => {
  fixture = await openSearch();
  await indexCorpus(fixture.db, corpus);
  own = await createOwnSearch(fixture.db, null);
});
afterAll(async () => {
  await own.search.close();
  await fixture.close();
});

test("ranking is no worse than required, and at most .01 worse than the stored result and every peer, on both sets", async () => {
  for (const [set, file] of Object.entries(JUDGMENT_SETS)) {
    const measured = await measure(own, readJudgments(file));
    expect(checkGate(set, [measured], readStoredPeers(set))).toEqual([]);
  }
});

/** All 4,098 titles take more than a minute, so only every eighth is tested unless PROMPTD_TEST_TITLES=all. */
const TITLES_STEP = process.env["PROMPTD_TEST_TITLES"] === "all" ? 1 : 8;

test("a title in the evaluation finds its prompt first, however it is typed", { timeout: 300_000 }, async () => {
  expect(await listMissedTitles(own.search, corpus, { forms: 1, step: TITLES_STEP })).toEqual([]);
});

test("the peers' stored figures are for these prompts, judgments, versions, and settings", () => {
  expect(hashInputs(), "run: npm run eval:search -- --embeddings --update").toBe(readStored().inputs);
});
