import { afterEach, beforeEach, expect, test } from "vitest";
import type { Database } from "../../src/platform/database/database.ts";
import { readIndexState, startNearIndex } from "../../src/search/index/vector-index-store.ts";
import { documentOf, openSearch, promptId } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

/** Without pgvector: the same build, with an ordinary index. */
const [TABLE, METHOD] = ["search_vectors_test", "btree (v)"];

let fixture: SearchFixture;
let db: Database;
beforeEach(async () => {
  fixture = await openSearch();
  ({ db } = fixture);
  await db.query(`create table ${TABLE} (doc int primary key, v real)`);
  await fixture.publish(documentOf(1, "Chess coach"), documentOf(2, "Chess tutor"));
});
afterEach(() => fixture.close());

/** Writes to the table and does not end, which a build waits for. */
async function openWriter() {
  const written = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const writer = db.tx(async (tx) => {
    await tx.query(`insert into ${TABLE} values (1, 1)`);
    written.resolve();
    await release.promise;
  });
  await written.promise;
  return {
    end: async () => {
      release.resolve();
      await writer;
    },
  };
}

const builders = () =>
  db.query<{ pid: number }>(`select pid from pg_stat_progress_create_index where relid = '${TABLE}'::regclass`);
async function isBuilding(): Promise<number> {
  for (;;) for (const { pid } of await builders()) return pid;
}

test("while the index of vectors is built prompts are taken back and published again with new text", async () => {
  const writer = await openWriter();
  const { built } = await startNearIndex(db, TABLE, METHOD);
  await isBuilding();
  await fixture.unpublish(promptId(1));
  await fixture.publish(documentOf(2, "Violin teacher"));
  expect(await fixture.titles("violin teacher")).toEqual(["Violin teacher"]);
  expect(await readIndexState(db, TABLE)).toBe("filling");
  await writer.end();
  await built;
  expect(await readIndexState(db, TABLE)).toBe("ready");
});

test("an index that is being built is not begun again, and one that was broken off is", async () => {
  const writer = await openWriter();
  const { built } = await startNearIndex(db, TABLE, METHOD);
  const pid = await isBuilding();
  await (
    await startNearIndex(db, TABLE, METHOD)
  ).built;
  expect(await builders()).toEqual([{ pid }]);
  const outcome = built.catch((error: unknown) => String(error));
  await db.query("select pg_cancel_backend($1)", [pid]);
  expect(await outcome).toContain("canceling statement");
  await writer.end();
  expect(await readIndexState(db, TABLE)).toBe("filling");
  await (
    await startNearIndex(db, TABLE, METHOD)
  ).built;
  expect(await readIndexState(db, TABLE)).toBe("ready");
});
