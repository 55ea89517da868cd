import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";

import { readCorpus } from "../../../../bench/search/evaluation-data.ts";
import { indexCorpus } from "../../../../bench/search/own-systems.ts";
import type { CorpusPrompt } from "../../../../bench/search/evaluation-data.ts";
import { promptId, openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

const SEED = new URL("../../seed/", import.meta.url);
const QUERY_MAX = 200;
/** As many as ask the database at the same time. */
const AT_ONCE = 3;

interface Titled {
  readonly title: string;
  readonly description?: string;
  readonly tags?: readonly string[];
}

/** The shipped prompts: the catalogue and the files beside it. */
function readSeed(): CorpusPrompt[] {
  const { prompts } = JSON.parse(readFileSync(new URL("catalogue.json", SEED), "utf8")) as { prompts: Titled[] };
  const files = readdirSync(new URL("prompts/", SEED)).map((name) => {
    const text = readFileSync(new URL(`prompts/${name}`, SEED), "utf8");
    return { title: /^title: (.*)$/m.exec(text)?.[1] ?? "", description: /^description: (.*)$/m.exec(text)?.[1] ?? "" };
  });
  return [...prompts, ...files].map(({ title, description = "", tags = [] }: Titled, i) => ({
    id: promptId(i + 1),
    title,
    description,
    tags,
    variables: [],
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

describeSet("the evaluation", 1);
describeSet("the shipped prompts", 3);

/** Every title in `forms` of the forms; which ones goes round. */
function describeSet(name: keyof typeof sets, forms: number): void {
  const prompts = sets[name];
  let fixture: SearchFixture;
  const titleOf = new Map(prompts.map(({ id, title }) => [id, title]));
  beforeAll(async () => {
    if (fixture !== undefined) return;
    fixture = await openSearch({ wordsTimeoutMs: 30_000 }); // a busy machine must not make them titles alone
    await indexCorpus(fixture.db, prompts);
  }, 120_000);
  afterAll(() => fixture.close());

  test(`every title of ${name} finds its prompt first, however it is typed`, { timeout: 300_000 }, async () => {
    const missed: string[] = [];
    const look = async (title: string, i: number): Promise<void> => {
      for (let n = 0; n < forms; n += 1) {
        const query = FORMS[(i + n) % FORMS.length]?.(title) ?? title;
        if (Array.from(query.trim()).length > QUERY_MAX) continue;
        const [first = ""] = await fixture.search.find(query, 1);
        if (!isSameTitle(titleOf.get(first) ?? "", title)) missed.push(`${query} -> ${titleOf.get(first)}`);
      }
    };
    for (let i = 0; i < prompts.length; i += AT_ONCE) {
      await Promise.all(prompts.slice(i, i + AT_ONCE).map(({ title }, k) => look(title, i + k)));
    }
    expect(missed).toEqual([]);
  });
}

test("a query that no word and no meaning of the shipped prompts answers finds nothing, not noise", async () => {
  const fixture = await openSearch();
  try {
    await indexCorpus(fixture.db, sets["the shipped prompts"]);
    for (const query of ["instag", "C#", "facebo", "asdfqwer zxcv"])
      expect(await fixture.titles(query), query).toEqual([]);
  } finally {
    await fixture.close();
  }
});

/** One of equals: two prompts may have the same title, or titles of the same words. */
function isSameTitle(a: string, b: string): boolean {
  const words = (text: string) => text.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}+#]+/gu, "");
  return words(a) === words(b);
}
