import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Database, Queryable } from "../../src/platform/database/database.ts";
import type { RemoteEmbedder } from "../../src/search/index.ts";
import { documentOf, openSearch, promptId } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";
import { eventually } from "../support/eventually.ts";

/** More than are read while a query waits. */
const MANY = 1_100;
let fixture: SearchFixture;
beforeEach(async () => {
  fixture = await openSearch();
  await fixture.publish(...Array.from({ length: MANY }, (_, i) => documentOf(i + 1, `Zorblat ${i}`)));
});
afterEach(() => fixture.close());

const knowing = (): RemoteEmbedder => ({
  model: "test/behind",
  embedTexts: vi.fn(async (texts: readonly string[]) => texts.map((text) => Float32Array.of(1, text.length, 3, 4))),
});

/** The database as seen by a process that can read a model's vectors only once it is allowed to. */
function holdVectors() {
  const mayRead = Promise.withResolvers<void>();
  const read: string[] = [];
  const query: Queryable["query"] = async (statement, values) => {
    const text = typeof statement === "string" ? statement : statement.text;
    if (text.includes("select doc, vec from search_embeddings")) {
      const embedder = String(values?.[0]);
      read.push(embedder.split("-")[0] ?? "");
      const isPage = Array.isArray(values?.[1]) && values[1].length > 50;
      if (embedder.startsWith("remote-") && isPage) await mayRead.promise;
    }
    return fixture.db.query(statement, values);
  };
  const db: Database = { ...fixture.db, query };
  return { db, read, release: () => mayRead.resolve() };
}

test("while the vectors of a new model are read, queries use the previous ones", async () => {
  const held = holdVectors();
  const model = knowing();
  const search = fixture.openAnother({ db: held.db, embeddings: model });
  await search.find("zorblat 7", 5);
  const other = fixture.openAnother({ embeddings: knowing() });
  for (let turn = 0; turn < 10; turn += 1) await fixture.runTick(other, "search-embed");
  expect((await search.find("zorblat 8", 5))[0]).toBe(promptId(9));
  expect(model.embedTexts).not.toHaveBeenCalled();
  await fixture.publish(documentOf(MANY + 1, "Quandle"));
  await fixture.unpublish(promptId(10));
  await fixture.runTick(other, "search-embed");
  expect((await search.find("quandle", 5))[0]).toBe(promptId(MANY + 1));
  held.release();
  await eventually(async () => {
    await search.find("zorblat 11", 5);
    expect(model.embedTexts).toHaveBeenCalled();
  });
  expect((await search.find("quandle", 5))[0]).toBe(promptId(MANY + 1));
  expect(await search.find("zorblat 9", 20)).not.toContain(promptId(10));
});

test("a process that was suspended reads only the vectors that it lacks", async () => {
  const clock = { ms: 1_000_000, nowMs: () => clock.ms };
  const held = holdVectors();
  const search = fixture.openAnother({ db: held.db, clock });
  await search.find("zorblat 7", 5);
  expect(held.read).toHaveLength(2); // two pages
  await fixture.publish(documentOf(MANY + 1, "Quandle"));
  await fixture.unpublish(promptId(10));
  await fixture.db.query("delete from search_changes");
  clock.ms += 51 * 60 * 1_000;
  expect((await search.find("quandle", 5))[0]).toBe(promptId(MANY + 1));
  expect(held.read).toHaveLength(3);
  expect(await search.find("zorblat 9", 20)).not.toContain(promptId(10));
});

test("while a transaction stays open, no process reads the same changes again", async () => {
  let changes = 0;
  const pipelined: Database["pipelined"] = async <Row extends object>(...query: Parameters<Database["pipelined"]>) => {
    const rows = await fixture.db.pipelined<Row>(...query);
    if (query[0].name === "search_read_changes")
      changes += rows.filter((row) => "doc" in row && row.doc !== null).length;
    return rows;
  };
  const search = fixture.openAnother({ db: { ...fixture.db, pipelined } });
  await search.find("zorblat 7", 5);
  const [noted, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = fixture.db.tx(async (tx) => {
    await tx.query("insert into search_changes (doc, terms, words) values (0, '{}', '{}')");
    noted.resolve();
    await release.promise;
  });
  await noted.promise;
  await fixture.db.query(
    "insert into search_changes (doc, terms, words) select 0, '{}', '{}' from generate_series(1, 20100)",
  );
  changes = 0;
  for (let look = 0; look < 4; look += 1) await search.find("zorblat 7", 5);
  expect(changes).toBe(20_100);
  release.resolve();
  await slow;
  changes = 0;
  await search.find("zorblat 7", 5);
  expect(changes).toBe(1);
});
