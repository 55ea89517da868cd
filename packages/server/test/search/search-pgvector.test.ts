import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readCorpus, readJudgments } from "../../../../bench/search/evaluation-data.ts";
import { indexCorpus } from "../../../../bench/search/own-systems.ts";
import { createLog } from "../../src/platform/log.ts";
import type { Search, SearchOptions } from "../../src/search/index.ts";
import { documentOf, openSearch, promptId } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

let fixture: SearchFixture;
let isAvailable = false;
beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] }); // no process looks for itself whether the extension is there
  fixture = await openSearch();
  const found = await fixture.db.query("select from pg_available_extensions where name = 'vector'");
  isAvailable = found.length > 0;
  if (!isAvailable) return;
  await indexCorpus(fixture.db, readCorpus());
  await fixture.db.query("create extension vector");
}, 120_000);
afterAll(async () => {
  vi.useRealTimers();
  await fixture.close();
});

const tables = () =>
  fixture.db.query<{ rows: number }>(
    `select (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I', relname), false, true, '')))[1]::text::int as rows
     from pg_class where relkind = 'r' and relname like 'search\\_vectors\\_%'`,
  );
/** Turns until the index, which is built beside them, is there. */
async function buildIndex(search: Search): Promise<void> {
  const isReady = `select from pg_index where indisvalid and indexrelid::regclass::text like 'search\\_vectors\\_%\\_near'`;
  while ((await fixture.db.query(isReady)).length === 0) await fixture.runTick(search, "search-vector-index");
}
const openIndexed = (more: Partial<SearchOptions> = {}) => fixture.openAnother({ indexFromDocuments: 1_000, ...more });

test("with pgvector the same prompts are found as by the exact scan, and after it is dropped as before", async (context) => {
  context.skip(!isAvailable, "this PostgreSQL server has no pgvector");
  const exact = fixture.search;
  await exact.find("opened before there is a table", 1);
  const log = createLog("silent").child({}, {});
  const warnings: string[] = [];
  log.warn = (...parts: unknown[]) => void warnings.push(String(parts[1]));
  const indexed = openIndexed({ log });
  await buildIndex(indexed);
  expect(await tables()).toEqual([{ rows: readCorpus().length }]);

  let shared = 0;
  let total = 0;
  for (const { q } of readJudgments()) {
    const wanted = await exact.find(q, 10);
    const found = new Set(await indexed.find(q, 10));
    total += wanted.length;
    shared += wanted.filter((id) => found.has(id)).length;
  }
  expect(shared / total).toBeGreaterThan(0.97);

  await fixture.db.query("drop extension vector cascade");
  const queries = readJudgments().slice(0, 20);
  expect((await indexed.find("retirement", 10)).length).toBeGreaterThan(0); // words answer while the table is gone
  expect(warnings).toEqual(["the index of vectors did not answer; search scans its own copy of the vectors"]);
  // The copy is read beside the queries, so the first of them are still answered by words.
  for (const { q } of queries) {
    await vi.waitFor(async () => expect(await indexed.find(q, 10), q).toEqual(await exact.find(q, 10)), 20_000);
  }
  await fixture.runTick(indexed, "search-vector-index");
  await fixture.db.query("create extension vector");
}, 300_000);

test("what is published later comes into the index, and what is unpublished is found no more and leaves it", async (context) => {
  context.skip(!isAvailable, "this PostgreSQL server has no pgvector");
  const indexed = openIndexed();
  await buildIndex(indexed);
  const before = (await tables())[0]?.rows ?? 0;
  await fixture.publish(documentOf(1, "Beekeeping calendar", { description: "Honey and hives through the year" }));
  await fixture.runTick(indexed, "search-vector-index");
  expect(await tables()).toEqual([{ rows: before + 1 }]);
  expect(await indexed.find("beekeeping calendar", 1)).toEqual([promptId(1)]);
  await fixture.unpublish(promptId(1));
  expect(await indexed.find("beekeeping calendar", 10)).not.toContain(promptId(1));
  await fixture.runTick(indexed, "search-vector-index");
  expect(await tables()).toEqual([{ rows: before }]);
}, 120_000);
