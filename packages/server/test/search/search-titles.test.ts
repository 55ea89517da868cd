import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { readCorpus } from "../../../../bench/search/evaluation-data.ts";
import { indexCorpus } from "../../../../bench/search/own-systems.ts";
import type { CorpusPrompt } from "../../../../bench/search/evaluation-data.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { parsePromptFile } from "../../src/prompts/index.ts";
import { promptId, openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

const SEED = new URL("../../seed/", import.meta.url);
const QUERY_MAX = 200;
/** As many as ask the database at the same time. */
const AT_ONCE = 3;

/** The shipped prompts: the catalogue and the files beside it. */
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

/** Ways to type the same title. */
const FORMS: readonly ((title: string) => string)[] = [
  (title) => title,
  (title) => title.toLowerCase(),
  (title) => (title.toUpperCase().toLowerCase() === title.toLowerCase() ? title.toUpperCase() : title),
  (title) => `  ${title.replaceAll(" ", "  ")}\n`,
  (title) => `${title}!`,
  (title) => title.replaceAll(/[-–—:,;/()'"]+/g, " "),
  (title) => title.replaceAll(/\s+/gu, ""),
  (title) => title.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}+#]+/gu, ""),
];

const sets = { "the evaluation": readCorpus(), "the shipped prompts": readSeed() };

/** All 4,098 titles of the evaluation take more than a minute: every eighth one, unless PROMPTD_TEST_TITLES=all. */
const EVALUATION_STEP = process.env["PROMPTD_TEST_TITLES"] === "all" ? 1 : 8;

describeSet("the evaluation", { forms: 1, step: EVALUATION_STEP });
const shippedPrompts = describeSet("the shipped prompts", { forms: 3, step: 1 });

/**
 * Every `step`-th title in `forms` of the forms; which ones goes round.
 * @returns what gives a test the search in this set.
 */
function describeSet(name: keyof typeof sets, { forms, step }: { forms: number; step: number }): () => SearchFixture {
  const prompts = sets[name];
  const asked = prompts.filter((_, i) => i % step === 0);
  let fixture: SearchFixture;
  const titleOf = new Map(prompts.map(({ id, title }) => [id, title]));
  beforeAll(async () => {
    if (fixture !== undefined) return;
    fixture = await openSearch({ wordsTimeoutMs: 30_000 }); // a busy machine must not make them titles alone
    await indexCorpus(fixture.db, prompts);
  }, 120_000);
  afterAll(() => fixture.close());

  const which = step === 1 ? "every title" : `one title in ${step}`;
  test(`${which} of ${name} finds its prompt first, however it is typed`, { timeout: 300_000 }, async () => {
    const missed: string[] = [];
    const look = async (title: string, i: number): Promise<void> => {
      for (let n = 0; n < forms; n += 1) {
        const query = FORMS[(i + n) % FORMS.length]?.(title) ?? title;
        if (Array.from(query.trim()).length > QUERY_MAX) continue;
        const [first = ""] = await fixture.search.find(query, 1);
        if (!isSameTitle(titleOf.get(first) ?? "", title)) missed.push(`${query} -> ${titleOf.get(first)}`);
      }
    };
    for (let i = 0; i < asked.length; i += AT_ONCE) {
      await Promise.all(asked.slice(i, i + AT_ONCE).map(({ title }, k) => look(title, i + k)));
    }
    expect(missed).toEqual([]);
  });
  return () => fixture;
}

describe("on the shipped prompts", () => {
  test.each(["instag", "C#", "facebo", "asdfqwer zxcv"])("%s finds nothing, not noise", async (query) => {
    expect(await shippedPrompts().titles(query)).toEqual([]);
  });

  test.each(["für", "für die", "pour une", "avec", "und", "para el", "della", "não", "the", "because", "your own"])(
    "%s, which says nothing in its language, finds the titles alone that have it as words",
    async (query) => {
      const titles = sets["the shipped prompts"].map(({ title }) => title);
      const holding = titles.filter((title) =>
        ` ${title.toLowerCase().replaceAll(/[^\p{L}]+/gu, " ")} `.includes(` ${query} `),
      );
      expect((await shippedPrompts().titles(query)).toSorted()).toEqual(holding.toSorted());
    },
  );

  test.each([
    ["logo for coffee shop", 4, /logo/i],
    ["bedtime story for my kid", 4, /story/i],
    ["resumee bulider", 2, /resume/i],
  ])("of %s the %i first are the thing itself, not what is near to its circumstances", async (query, count, thing) => {
    const found = await shippedPrompts().titles(query, count);
    expect(found.filter((title) => !thing.test(title))).toEqual([]);
  });
});

/** One of equals: two prompts may have the same title, or titles of the same words. */
function isSameTitle(a: string, b: string): boolean {
  const words = (text: string) => text.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}+#]+/gu, "");
  return words(a) === words(b);
}
