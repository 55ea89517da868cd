/** Compares search with its peers, and with a provider's embedders, on the prompts of the evaluation. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCorpus, readJudgments } from "../../../../bench/search/evaluation-data.ts";
import { createOwnSearch, indexCorpus } from "../../../../bench/search/own-systems.ts";
import { createFullText, createMiniSearch, createTrigramPeer } from "../../../../bench/search/peers.ts";
import { readStoredPeers } from "../../../../bench/search/quality-gate.ts";
import { measure, scoresOf, summarize, type Measured } from "../../../../bench/search/quality-report.ts";
import { createMediocreEmbedder, createTestEmbedder } from "../../../../bench/search/test-embedder.ts";
import { openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

const corpus = readCorpus();
const queries = readJudgments();

let fixture: SearchFixture;
/** With words and the built-in vectors only. */
let plain: Measured;
beforeAll(async () => {
  fixture = await openSearch();
  await indexCorpus(fixture.db, corpus);
  const own = await createOwnSearch(fixture.db, null);
  plain = await measure(own, queries);
  await own.search.close();
});
afterAll(() => fixture.close());

// Fuse.js takes half a second per query: only `npm run eval:search` measures its figures again.
test("the fast peers still measure as in the stored results", async () => {
  const peers = [await createFullText(fixture.db, corpus), createTrigramPeer(corpus), createMiniSearch(corpus)];
  const measured = [];
  for (const peer of peers) measured.push(await measure(peer, queries));
  for (const { name, classes } of summarize(measured)) {
    expect({ name, classes }).toEqual({
      name,
      classes: readStoredPeers("dev").find((kept) => kept.name === name)?.classes,
    });
  }
});

test("a mediocre embedder costs almost nothing for words and typing errors, and little for paraphrases", async () => {
  const embedded = await createOwnSearch(fixture.db, createMediocreEmbedder());
  const after = await measure(embedded, queries);
  await embedded.search.close();
  const lossOf = (cls: string) => scoresOf(plain, cls).ndcg - scoresOf(after, cls).ndcg;
  expect(lossOf("lexical")).toBeLessThan(0.015);
  expect(lossOf("typo")).toBeLessThan(0.005);
  expect(lossOf("paraphrase")).toBeLessThan(0.05);
  // As if no process had been configured with it for as long as another model must wait.
  await fixture.db.query("update search_embedders set wanted_at = wanted_at - interval '11 minutes'");
});

test("a good embedder improves paraphrases and makes nothing worse", async () => {
  const embedded = await createOwnSearch(fixture.db, createTestEmbedder(corpus, queries));
  const after = await measure(embedded, queries);
  const mean = (all: Measured, cls: string) => {
    const scores = all.results.filter((result) => result.cls === cls).map(({ scores: { ndcg } }) => ndcg);
    return scores.reduce((sum, value) => sum + value, 0) / scores.length;
  };
  expect(mean(after, "paraphrase")).toBeGreaterThan(mean(plain, "paraphrase") + 0.2);
  for (const cls of ["lexical", "typo"]) expect(mean(after, cls)).toBeGreaterThanOrEqual(mean(plain, cls));
  await embedded.search.close();
});
