import { afterAll, beforeAll, expect, test } from "vitest";
import { readCorpus, readJudgments } from "../../../bench/search/evaluation-data.ts";
import { createOwnSearch, indexCorpus } from "../../../bench/search/own-systems.ts";
import { createMiniSearch } from "../../../bench/search/peers.ts";
import { checkGate } from "../../../bench/search/quality-gate.ts";
import { measure } from "../../../bench/search/quality-report.ts";
import { createTestEmbedder } from "../../../bench/search/test-embedder.ts";
import { openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

const corpus = readCorpus();
const queries = readJudgments();

let fixture: SearchFixture;
beforeAll(async () => {
  fixture = await openSearch();
  await indexCorpus(fixture.db, corpus);
}, 120_000);
afterAll(() => fixture.close());

test("ranking is no worse than required, than the kept result and than MiniSearch, less a hundredth", async () => {
  const peer = createMiniSearch(corpus);
  const own = await createOwnSearch(fixture.db, null);
  expect(checkGate([await measure(own, queries), await measure(peer, queries)], [peer.name])).toEqual([]);
  await own.search.close();
}, 60_000);

test("with a good embedder paraphrases are found better and nothing is found worse", async () => {
  const plain = await createOwnSearch(fixture.db, null);
  const before = await measure(plain, queries);
  const embedded = await createOwnSearch(fixture.db, createTestEmbedder(corpus, queries));
  const after = await measure(embedded, queries);
  const mean = (all: typeof before, cls: string) => {
    const scores = all.results.filter((result) => result.cls === cls).map(({ scores: { ndcg } }) => ndcg);
    return scores.reduce((sum, value) => sum + value, 0) / scores.length;
  };
  expect(mean(after, "paraphrase")).toBeGreaterThan(mean(before, "paraphrase") + 0.2);
  for (const cls of ["lexical", "typo"]) expect(mean(after, cls)).toBeGreaterThanOrEqual(mean(before, cls));
  await plain.search.close();
  await embedded.search.close();
}, 60_000);
