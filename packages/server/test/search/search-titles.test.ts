import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { indexCorpus } from "../../../../bench/search/own-systems.ts";
import type { CorpusPrompt } from "../../../../bench/search/evaluation-data.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { parsePromptFile } from "../../src/prompts/index.ts";
import { listMissedTitles } from "./missed-titles.ts";
import { promptId, openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

const SEED = new URL("../../seed/", import.meta.url);

/** The shipped prompts: the catalogue and the other files. */
function readSeed(): CorpusPrompt[] {
  const files = readdirSync(new URL("prompts/", SEED)).map((name) => `prompts/${name}`);
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
  return ["catalogue.json", ...files]
    .flatMap((name) => parsePromptFile(readFileSync(new URL(name, SEED), "utf8"), catalogue))
    .map(({ title, description, tags, definition }, i) => ({
      id: promptId(i + 1),
      title,
      description,
      tags,
      variables: definition.inputs.map(({ key }) => key),
    }));
}

const shipped = readSeed();

let fixture: SearchFixture;
beforeAll(async () => {
  fixture = await openSearch({ wordsTimeoutMs: 30_000 }); // a busy machine must not make them titles alone
  await indexCorpus(fixture.db, shipped);
});
afterAll(() => fixture.close());

test("every title of a shipped prompt finds its prompt first, however it is typed", { timeout: 300_000 }, async () => {
  expect(await listMissedTitles(fixture.search, shipped, { forms: 3, step: 1 })).toEqual([]);
});

describe("among the shipped prompts", () => {
  test.each(["instag", "C#", "facebo", "asdfqwer zxcv"])("%s finds nothing, not noise", async (query) => {
    expect(await fixture.titles(query)).toEqual([]);
  });

  test.each(["für", "für die", "pour une", "avec", "und", "para el", "della", "não", "the", "because", "your own"])(
    "%s, a stop word in its language, finds only titles that have it as words",
    async (query) => {
      const titles = shipped.map(({ title }) => title);
      const holding = titles.filter((title) =>
        ` ${title.toLowerCase().replaceAll(/[^\p{L}]+/gu, " ")} `.includes(` ${query} `),
      );
      expect((await fixture.titles(query)).toSorted()).toEqual(holding.toSorted());
    },
  );

  test.each([
    ["logo for coffee shop", 4, /logo/i],
    ["bedtime story for my kid", 4, /story/i],
    ["resumee bulider", 2, /resume/i],
  ])(
    "for %s, the first %i are the thing itself, not prompts that are close to its context",
    async (query, count, thing) => {
      const found = await fixture.titles(query, count);
      expect(found.filter((title) => !thing.test(title))).toEqual([]);
    },
  );
});
