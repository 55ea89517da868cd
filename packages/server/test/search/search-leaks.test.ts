import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { indexDocuments } from "../../src/search/index.ts";
import { startTestServer } from "../support/test-server.ts";
import { promptFile } from "../prompts/prompt-files.ts";
import { documentOf, openSearch, promptId } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

let fixture: SearchFixture;
beforeEach(async () => {
  fixture = await openSearch();
});
afterEach(() => fixture.close());

/** The whole content of the search tables, as one text. */
async function dumpTables(db = fixture.db): Promise<string> {
  const tables = await db.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_name like 'search\\_%' order by 1",
  );
  const dumps = [];
  for (const { name } of tables) {
    dumps.push(await db.query(`select to_jsonb(t)::text as row from ${name} t`));
  }
  return JSON.stringify(dumps);
}

/** A prompt file whose hidden parts have unique words: template, input labels, samples. */
const HIDING = promptFile({
  title: "Sauce maker",
  description: "Cooks with care.",
  fields: [
    "inputs:",
    "  herb:",
    "    label: Quorvex",
    "    description: Zibblenaut",
    "samples:",
    "  - inputs: { herb: Blenthip }",
    "    outputs: [Vramsett]",
  ].join("\n"),
  body: "Xylozant secret sauce with {{ herb }}.",
});
const HIDDEN = ["xylozant", "quorvex", "zibblenaut", "blenthip", "vramsett"];

test("publishing stores nothing of a prompt's hidden parts, and no query can tell their words from unknown words", async () => {
  const server = await startTestServer();
  try {
    await server.publish(HIDING);
    const db = await openDatabase({ url: server.databaseUrl, role: "test", log: createLog("silent") });
    const stored = (await dumpTables(db)).toLowerCase();
    await db.close();
    for (const word of ["sauce", "care", "herb"]) expect(stored).toContain(word);
    for (const word of HIDDEN) expect(stored).not.toContain(word);
    const { client } = await server.createCaller();
    const find = async (q: string) => (await client.prompts.search(q)).rows.map(({ title }) => title);
    expect(await find("sauce")).toEqual(["Sauce maker"]);
    for (const word of HIDDEN) {
      for (const query of [word, word.slice(0, -1), `"${word}"`]) expect(await find(query), query).toEqual([]);
      expect(await find(`sauce ${word}`)).toEqual(await find("sauce qqxzvw"));
    }
  } finally {
    await server.close();
  }
});

test("an unpublished prompt leaves no word behind in rankings, corrections, or completions", async () => {
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

test("an older version's words find nothing, complete nothing, and are part of no joined or counted word", async () => {
  await fixture.publish(documentOf(1, "Xylozant polish", { tags: ["Quorvex"] }), documentOf(2, "Sauce maker"));
  await fixture.publish(documentOf(1, "Floor polish"));
  for (const query of ["xylozant", "xylozatn", "xyl", "xylo zant", "saucexylozant", "x6t", '"quorvex"', "quorve"]) {
    const nowhere = query.replaceAll("xyl", "qqx").replaceAll("quo", "qqx").replaceAll("x6t", "q6w");
    expect(await fixture.search.find(query, 20), query).toEqual(await fixture.search.find(nowhere, 20));
  }
});

test("the order of public prompts reveals nothing about what was published in between", async () => {
  const documents = ["Sauce maker", "Sauce reviewer", "Maker of things"].map((title, i) => documentOf(i + 1, title));
  await fixture.publish(...documents);
  const queries = ["sauce", "maker", "sauce maker", "sause", "mak", "thing reviewer"];
  const ask = () => Promise.all(queries.map((query) => fixture.search.find(query, 20)));
  const before = await ask();
  await fixture.publish(documentOf(9, "Sauce sauce maker", { description: "sauce maker of makers" }));
  await fixture.unpublish(promptId(9));
  expect(await ask()).toEqual(before);
});

test("a draft being published in an open transaction corrects nobody's query", async () => {
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

test("an embeddings model gets the four public fields and the query, and nothing else", async () => {
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
  await fixture.publish(document);
  for (let turn = 0; turn < 3; turn += 1) await fixture.runTick(search, "search-embed");
  await search.find("my question", 20);
  expect(sent).toEqual([
    "Title: prompt",
    "Title: Sauce maker\nDescription: For pasta\nTags: food\nInputs: Herb",
    "my question",
  ]);
});

test("no log line contains a query", async () => {
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
