import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import type { RemoteEmbedder } from "../../src/search/index.ts";
import { documentOf, openSearch } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

let fixture: SearchFixture;
beforeEach(async () => {
  fixture = await openSearch();
  await fixture.publish(documentOf(1, "Zorblat"), documentOf(2, "Quandle"));
});
afterEach(() => fixture.close());

const modelOf = (model: string, dims = 4): RemoteEmbedder => ({
  model,
  embedTexts: vi.fn(async (texts: readonly string[]) =>
    texts.map((text) => Float32Array.from({ length: dims }, (_, k) => 1 + Math.sin(k + text.length))),
  ),
});
const openWith = (model: RemoteEmbedder) => fixture.openAnother({ embeddings: model });
const turnOf = (search: ReturnType<typeof openWith>) => fixture.runTick(search, "search-embed");

async function states(): Promise<string[]> {
  const rows = await fixture.db.query<{ name: string; state: string }>(
    "select coalesce(model, 'built-in') as name, state from search_embedders order by 1",
  );
  return rows.map(({ name, state }) => `${name} ${state}`);
}
/** As if no process had wanted this model's embedders for this long. */
const age = (model: string, interval: string) =>
  fixture.db.query(
    `update search_embedders set wanted_at = wanted_at - $2::interval, retired_at = retired_at - $2::interval
     where coalesce(model, 'built-in') = $1`,
    [model, interval],
  );

test("a process without the setting does not replace the others' model", async () => {
  const [withModel, without] = [openWith(modelOf("test/one")), fixture.openAnother()];
  await turnOf(withModel);
  for (let turn = 0; turn < 3; turn += 1) await turnOf(without);
  expect(await states()).toEqual(["built-in retired", "test/one active"]);
});

test("ten minutes after the last process was configured with the model, search returns to the built-in vectors", async () => {
  await turnOf(openWith(modelOf("test/one")));
  const without = fixture.openAnother();
  await age("test/one", "9 minutes");
  await turnOf(without);
  expect(await states()).toEqual(["built-in retired", "test/one active"]);
  await age("test/one", "2 minutes");
  await turnOf(without);
  expect(await states()).toEqual(["built-in active", "test/one retired"]);
});

test("a process that is configured with the model still wants it while the model is unavailable", async () => {
  await turnOf(openWith(modelOf("test/one")));
  const away = { model: "test/one", embedTexts: () => Promise.reject(new Error("503")) };
  const search = openWith(away);
  await age("test/one", "11 minutes");
  await turnOf(search).catch(() => {});
  await turnOf(fixture.openAnother());
  expect(await states()).toEqual(["built-in retired", "test/one active"]);
});

test("a model that is wanted again is reused with the vectors that it still has", async () => {
  await turnOf(openWith(modelOf("test/one")));
  await age("test/one", "11 minutes");
  await turnOf(fixture.openAnother());
  await fixture.publish(...["Bread", "Garden"].map((title, i) => documentOf(3 + i, title)));
  const model = modelOf("test/one");
  await turnOf(openWith(model));
  expect(await states()).toEqual(["built-in retired", "test/one active"]);
  const texts = vi.mocked(model.embedTexts).mock.calls.flatMap(([sent]) => sent);
  expect(texts).toEqual(["Title: prompt", "Title: Bread", "Title: Garden"]);
});

test("of two models that processes are configured with, the active one stays, and the other is ready to replace it", async () => {
  const [one, two] = [openWith(modelOf("test/one")), openWith(modelOf("test/two"))];
  for (let turn = 0; turn < 3; turn += 1) for (const search of [one, two]) await turnOf(search);
  expect(await states()).toEqual(["built-in retired", "test/one active", "test/two building"]);
  await age("test/one", "11 minutes");
  await turnOf(two);
  expect(await states()).toEqual(["built-in retired", "test/one retired", "test/two active"]);
  await turnOf(two);
  await turnOf(one);
  expect(await states()).toEqual(["built-in retired", "test/one building", "test/two active"]);
});

test("an embedder that was abandoned while it was built is removed after a day, a piece at a time", async () => {
  await fixture.publish(...Array.from({ length: 190 }, (_, i) => documentOf(i + 10, `Good text ${i}`)));
  const model = modelOf("test/one");
  const embedTexts: RemoteEmbedder["embedTexts"] = async (texts, signal) => {
    if (vi.mocked(model.embedTexts).mock.calls.length === 2) throw new Error("503"); // the probe and one batch
    return model.embedTexts(texts, signal);
  };
  await turnOf(openWith({ ...model, embedTexts })).catch(() => {});
  expect(await states()).toEqual(["built-in active", "test/one building"]);
  await age("test/one", "23 hours");
  await fixture.runTick(fixture.search, "search-tidy");
  expect(await states()).toHaveLength(2);
  await age("test/one", "2 hours");
  await fixture.runTick(fixture.search, "search-tidy");
  expect(await states()).toEqual(["built-in active"]);
});

test("a process whose configured model is not the active one logs so once", async () => {
  await turnOf(openWith(modelOf("test/one")));
  const warnings: string[] = [];
  const log = Object.assign(createLog("silent").child({}), {
    warn: (_fields: unknown, message: string) => void warnings.push(message),
  });
  const without = fixture.openAnother({ log });
  for (let i = 0; i < 3; i += 1) await without.find("zorblat", 5);
  expect(warnings).toEqual([expect.stringContaining("PROMPTD_EMBEDDING_MODEL")]);
  await openWith(modelOf("test/one")).find("zorblat", 5);
  expect(warnings).toHaveLength(1);
});
