import * as fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { indexDocuments, removeDocument } from "../../src/search/index.ts";
import { documentOf, openSearch, promptId } from "./search-fixture.ts";
import type { Database } from "../../src/platform/database/database.ts";
import type { SearchFixture } from "./search-fixture.ts";
import { IN_THIS_DATABASE } from "../support/test-database.ts";

let fixture: SearchFixture;
beforeAll(async () => {
  fixture = await openSearch();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  const rows = await fixture.db.query<{ id: string }>("select prompt_id as id from search_docs");
  for (const { id } of rows) await fixture.unpublish(id);
});

const counts = () =>
  fixture.db.query(
    "select (select coalesce(sum(df), 0) from search_terms)::int as terms, (select coalesce(sum(n + n_title), 0) from search_vocab)::int as words, (select count(*) from search_postings)::int as postings, (select count(*) from search_embeddings)::int as vectors",
  );

test("a published prompt is found at once, by title, description, tag, and input name", async () => {
  await fixture.publish(
    documentOf(1, "Chess opening coach", {
      description: "Studies gambits",
      tags: ["boardgame"],
      inputNames: ["Elo rating"],
    }),
    documentOf(2, "Bread recipe"),
  );
  for (const query of ["chess", "gambits", "boardgame", "elo rating"]) {
    expect((await fixture.titles(query))[0], query).toBe("Chess opening coach");
  }
});

test("an unpublished prompt is gone at once, even for another process", async () => {
  const other = fixture.openAnother();
  await fixture.publish(documentOf(1, "Chess coach"), documentOf(2, "Chess tutor"));
  expect(await other.find("chess", 20)).toHaveLength(2);
  await fixture.unpublish(promptId(1));
  expect(await other.find("chess", 20)).toEqual([promptId(2)]);
  await fixture.publish(documentOf(1, "Chess coach"));
  expect(await other.find("chess coach", 20)).toContain(promptId(1));
});

test("uncommitted prompts are not found, and a publish that is rolled back leaves nothing", async () => {
  await expect(
    fixture.db.tx(async (tx) => {
      await indexDocuments(tx, [documentOf(1, "Chess coach")]);
      expect(await fixture.search.find("chess", 20)).toEqual([]);
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  expect(await fixture.search.find("chess", 20)).toEqual([]);
});

test("a new version replaces the words of the old one", async () => {
  await fixture.publish(documentOf(1, "Zorblat"));
  await fixture.publish(documentOf(1, "Violin teacher", { promptVersionId: promptId(77) }));
  expect(await fixture.search.find("zorblat", 20)).toEqual([]);
  expect(await fixture.titles("violin")).toEqual(["Violin teacher"]);
});

test.each(["before the database searches for its words", "after that, and the copy in memory follows"])(
  "a prompt is found while its next version is published, %s",
  async (moment) => {
    const { db } = fixture;
    const version = (text: string) => documentOf(1, "Chess coach", { description: `A zorblat ${text}` });
    await fixture.publish(version("for beginners"), documentOf(2, "Bread recipe"));
    let isComing = true;
    const queryWithin: Database["queryWithin"] = async <Row extends object>(
      ...query: Parameters<Database["queryWithin"]>
    ) => {
      if (!isComing) return db.queryWithin<Row>(...query);
      isComing = false;
      const before = moment.startsWith("after") ? await db.queryWithin<Row>(...query) : null;
      await fixture.publish(version("for masters"));
      if (before === null) return db.queryWithin<Row>(...query);
      await search.find("bread", 20); // any query brings the copy up to date
      return before;
    };
    const search = fixture.openAnother({ db: { ...db, queryWithin } });
    expect(await search.find("zorblat", 20)).toEqual([promptId(1)]);
  },
);

test("a new version with the same text keeps its postings and its vectors", async () => {
  await fixture.publish(documentOf(1, "Chess coach"));
  const [before] = await fixture.db.query("select doc, prompt_version_id from search_docs");
  await fixture.publish(documentOf(1, "Chess coach", { promptVersionId: promptId(77) }));
  const [after] = await fixture.db.query("select doc, prompt_version_id from search_docs");
  expect(after).toEqual({ ...before, prompt_version_id: promptId(77) });
});

test("of several documents of one prompt in one call, the last counts, whatever the case of its id", async () => {
  await fixture.publish(
    documentOf(1, "Zorblat", { promptId: promptId(0xabc).toUpperCase() }),
    documentOf(1, "Violin teacher", { promptId: promptId(0xabc) }),
  );
  expect(await fixture.titles("violin")).toEqual(["Violin teacher"]);
  expect(await fixture.search.find("zorblat", 20)).toEqual([]);
});

test("after any publishing, changing, and removing, the counts match what is left", async () => {
  const title = fc.constantFrom("red fox", "red red hen", "blue fox den", "C++ and C#", "日本語", "the");
  const step = fc.record({ n: fc.integer({ min: 1, max: 4 }), title: fc.option(title) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      for (const { n, title: text } of steps) {
        if (text === null) await fixture.unpublish(promptId(n));
        else await fixture.publish(documentOf(n, text, { tags: ["fox"] }));
      }
      const drift = await fixture.db.query(
        `select t.term from search_terms t
         where t.df <> (select count(*) from search_postings p where p.term = t.term)
         union all select v.word from search_vocab v
         where v.n <> (select count(*) from search_docs d where v.word = any(d.words))
            or v.n_title <> (select count(*) from search_docs d where v.word = any(d.title_words))`,
      );
      expect(drift).toEqual([]);
      for (let n = 1; n <= 4; n += 1) await fixture.unpublish(promptId(n));
      expect(await counts()).toEqual([{ terms: 0, words: 0, postings: 0, vectors: 0 }]);
    }),
    { numRuns: 15 },
  );
});

test("publishers of the same words in opposite orders do not deadlock", async () => {
  const [a, b] = [documentOf(1, "alpha beta gamma"), documentOf(2, "gamma beta alpha")];
  await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      fixture.db.tx(async (tx) => {
        await indexDocuments(tx, i % 2 === 0 ? [a, b] : [b, a]);
        await removeDocument(tx, promptId(1 + (i % 2)));
      }),
    ),
  );
  const drift = await fixture.db.query(
    "select term from search_terms t where df <> (select count(*) from search_postings p where p.term = t.term)",
  );
  expect(drift).toEqual([]);
});

test("a change that commits after a later one is not missed", async () => {
  const other = fixture.openAnother();
  await other.find("chess", 20);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let noted = () => {};
  const isNoted = new Promise<void>((resolve) => {
    noted = resolve;
  });
  // Its change gets the smaller id but commits last: a cursor over ids would lose this row.
  const slow = fixture.db.tx(async (tx) => {
    await tx.query("insert into search_changes (doc, terms, words) values (0, '{}', '{}')");
    noted();
    await held;
    await indexDocuments(tx, [documentOf(1, "Chess coach")]);
  });
  await isNoted;
  await fixture.publish(documentOf(2, "Chess tutor"));
  expect(await other.find("chess", 20)).toEqual([promptId(2)]);
  release();
  await slow;
  expect((await other.find("chess", 20)).toSorted()).toEqual([promptId(1), promptId(2)]);
});

test("a process that was suspended until the changes were pruned reads everything again", async () => {
  const clock = { ms: 1_000_000, nowMs: () => clock.ms };
  const sleeper = fixture.openAnother({ clock });
  await sleeper.find("chess", 20);
  await fixture.publish(documentOf(1, "Chess coach"));
  await fixture.db.query("delete from search_changes");
  clock.ms += 51 * 60 * 1_000;
  expect(await sleeper.find("chess", 20)).toEqual([promptId(1)]);
});

test("housekeeping prunes old changes and zero counts, and corrects drift", async () => {
  await fixture.publish(documentOf(1, "Chess coach"), documentOf(2, "Violin teacher"));
  await fixture.unpublish(promptId(1));
  await fixture.db.query("update search_changes set at = at - interval '2 hours'");
  await fixture.db.query("update search_terms set df = 9 where term = 'violin'");
  await fixture.runTick(fixture.search, "search-tidy");
  expect(await fixture.db.query("select id from search_changes")).toEqual([]);
  await fixture.runTick(fixture.search, "search-audit");
  expect(await fixture.db.query("select term, df from search_terms order by term")).toEqual([
    { term: "teacher", df: 1 },
    { term: "violin", df: 1 },
  ]);
});

test("wrong or missing counts of terms and words are corrected, and running processes are notified", async () => {
  await fixture.publish(documentOf(1, "Chess coach"), documentOf(2, "Violin teacher"));
  await fixture.db.query("delete from search_terms where term = 'violin'");
  await fixture.db.query("delete from search_vocab where word = 'violin'");
  await fixture.db.query("update search_vocab set n = 7, n_title = 7 where word = 'chess'");
  const other = fixture.openAnother();
  expect(await other.find("viloin", 20)).toEqual([]);
  await fixture.runTick(fixture.search, "search-audit");
  expect((await other.find("viloin", 20))[0]).toBe(promptId(2));
  expect(await fixture.db.query("select word, n, n_title from search_vocab where n > 0 order by word")).toEqual(
    ["chess", "coach", "teacher", "violin"].map((word) => ({ word, n: 1, n_title: 1 })),
  );
});

test("documents from an older analyser version are indexed again", async () => {
  await fixture.publish(documentOf(1, "Chess coach"));
  await fixture.db.query("update search_docs set analyser = 0, content_hash = 'x'");
  await fixture.db.query("update search_postings set term = 'old-' || term");
  await fixture.db.query("update search_terms set term = 'old-' || term where df > 0");
  await fixture.runTick(fixture.search, "search-renew");
  expect(await fixture.openAnother().find("chess", 20)).toEqual([promptId(1)]);
});

test("a publish that commits while documents are indexed again is not undone", async () => {
  await fixture.publish(documentOf(1, "Sauce maker"), documentOf(2, "Xylozant polish"), documentOf(3, "Choir leader"));
  await fixture.db.query("update search_docs set analyser = 0");
  const noted = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const publishing = fixture.db.tx(async (tx) => {
    await indexDocuments(tx, [documentOf(1, "Gravy maker", { promptVersionId: promptId(77) })]);
    await removeDocument(tx, promptId(2));
    noted.resolve();
    await release.promise;
  });
  await noted.promise;
  const renewing = fixture.runTick(fixture.search, "search-renew");
  await isWaitedForLock();
  release.resolve();
  await Promise.all([publishing, renewing]);
  expect(await fixture.db.query(`select prompt_version_id as version, title from search_docs order by title`)).toEqual([
    { version: promptId(3 + 1_000_000), title: "Choir leader" },
    { version: promptId(77), title: "Gravy maker" },
  ]);
});

async function isWaitedForLock(): Promise<void> {
  const waiting = `select from pg_locks where locktype = 'advisory' and not granted and ${IN_THIS_DATABASE}`;
  while ((await fixture.db.query(waiting)).length === 0);
}

test("four thousand prompts in one transaction are indexed and found", async () => {
  const names = ["chess", "violin", "bread", "garden", "travel", "poetry", "budget", "logo"];
  const documents = Array.from({ length: 4_000 }, (_, i) =>
    documentOf(i + 1, `${names[i % 8]} helper number ${i}`, {
      description: `${names[(i * 3) % 8]} and ${names[(i * 5) % 8]} w${i}`,
    }),
  );
  let statements = 0;
  await fixture.db.tx(
    async (tx) => {
      const query: typeof tx.query = (...parts) => {
        statements += 1;
        return tx.query(...parts);
      };
      await indexDocuments({ ...tx, query }, documents);
    },
    { statementTimeoutMs: 0 },
  );
  expect(statements).toBeLessThanOrEqual(8 * 12); // eight batches: what makes an import fast is few round trips
  expect((await fixture.titles("w1234"))[0]).toBe("bread helper number 1234");
  expect(await fixture.search.find("chess", 20)).toHaveLength(20);
  await fixture.db.query(
    "truncate search_docs, search_postings, search_terms, search_vocab, search_embeddings, search_changes",
  );
});
