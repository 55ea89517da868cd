import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../src/platform/log.ts";
import { indexDocuments } from "../src/search/index.ts";
import { documentOf, openSearch, promptId } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

let fixture: SearchFixture;
beforeEach(async () => {
  fixture = await openSearch();
});
afterEach(() => fixture.close());

/** Everything the search tables hold, as one text. */
async function dumpTables(): Promise<string> {
  const tables = await fixture.db.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_name like 'search\\_%' order by 1",
  );
  const dumps = [];
  for (const { name } of tables) {
    dumps.push(await fixture.db.query(`select to_jsonb(t)::text as row from ${name} t`));
  }
  return JSON.stringify(dumps);
}

test("nothing but public fields is stored, whatever else the caller's object carries", async () => {
  const secret = { template: "Xylozant secret sauce", instructions: "Quorvex", samples: "Blenthip" };
  await fixture.publish({ ...documentOf(1, "Sauce maker"), ...secret });
  const stored = (await dumpTables()).toLowerCase();
  for (const word of ["xylozant", "quorvex", "blenthip"]) expect(stored).not.toContain(word);
});

test("a word of a hidden text cannot be told from one that exists nowhere", async () => {
  await fixture.publish({ ...documentOf(1, "Sauce maker"), template: "xylozant" } as ReturnType<typeof documentOf>);
  for (const [hidden, nowhere] of [
    ["xylozant", "xylozarb"],
    ["xylozan", "xylozar"],
    ["sauce xylozant", "sauce xylozarb"],
  ] as const) {
    expect(await fixture.search.find(hidden, 20)).toEqual(await fixture.search.find(nowhere, 20));
  }
});

test("an unpublished prompt leaves no word behind: not in a ranking, a correction or a completion", async () => {
  const other = fixture.openAnother();
  await fixture.publish(documentOf(1, "Xylozant polish"), documentOf(2, "Sauce maker"));
  expect(await other.find("xylozatn", 20)).toEqual([promptId(1)]);
  await fixture.unpublish(promptId(1));
  for (const query of ["xylozant", "xylozatn", "xyl", "xylozant sauce"]) {
    const found = await other.find(query, 20);
    expect(found, query).not.toContain(promptId(1));
    expect(found).toEqual(await other.find(query.replaceAll("xyl", "qqx"), 20));
  }
  await fixture.runTick(fixture.search, "search-tidy");
  await fixture.db.query("delete from search_changes where at < promptd_now()"); // pruned after an hour in service
  expect((await dumpTables()).toLowerCase()).not.toContain("xylozant");
});

test("a draft that is being published in an open transaction corrects nobody's query", async () => {
  await fixture.publish(documentOf(2, "Sauce maker"));
  await expect(
    fixture.db.tx(async (tx) => {
      await indexDocuments(tx, [documentOf(1, "Xylozant polish")]);
      expect(await fixture.search.find("xylozatn", 20)).toEqual([]);
      throw new Error("rolled back");
    }),
  ).rejects.toThrow("rolled back");
  expect(await fixture.search.find("xylozatn", 20)).toEqual([]);
});

test("an embeddings model is sent the four public fields and the query, nothing else", async () => {
  const sent: string[] = [];
  const search = fixture.openAnother({
    embeddings: {
      model: "test/model",
      embedTexts: async (texts) => {
        sent.push(...texts);
        return texts.map(() => Float32Array.of(1, 0));
      },
    },
  });
  const document = documentOf(1, "Sauce maker", { description: "For\npasta", tags: ["food"], inputNames: ["Herb"] });
  await fixture.publish({ ...document, template: "xylozant" } as typeof document);
  for (let turn = 0; turn < 3; turn += 1) await fixture.runTick(search, "search-embed");
  await search.find("my question", 20);
  expect(sent).toEqual([
    "Title: prompt",
    "Title: Sauce maker\nDescription: For pasta\nTags: food\nInputs: Herb",
    "my question",
  ]);
});

test("no log line holds a query", async () => {
  const lines: string[] = [];
  const log = createLog("debug").child({}, {});
  for (const level of ["debug", "info", "warn", "error"] as const) {
    log[level] = (...parts: unknown[]) => void lines.push(JSON.stringify(parts));
  }
  const search = fixture.openAnother({
    log,
    embeddings: {
      model: "test/model",
      embedTexts: async (texts) => {
        if (texts[0] === "xylozant question") throw new Error(`refused: ${texts[0]}`);
        return texts.map(() => Float32Array.of(1, 0));
      },
    },
  });
  await fixture.runTick(search, "search-embed");
  await search.find("xylozant question", 20);
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.join("\n")).not.toContain("xylozant");
});
