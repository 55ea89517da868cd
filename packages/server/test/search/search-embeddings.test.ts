import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RemoteEmbedder, Search } from "../../src/search/index.ts";
import { documentOf, openSearch, promptId } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

let fixture: SearchFixture;
beforeEach(async () => {
  fixture = await openSearch();
});
afterEach(() => fixture.close());

/** Knows that two words without common letters mean the same, which a built-in embedder cannot know. */
const SUBJECTS = [
  ["zorblat", "glimfrob"],
  ["quandle", "wexit"],
] as const;

function vectorOf(text: string, dims: number): Float32Array {
  const vector = new Float32Array(dims).fill(0.01);
  for (const [i, words] of SUBJECTS.entries()) {
    if (words.some((word) => text.toLowerCase().includes(word))) vector[i] = 1;
  }
  return vector;
}

function knowing(name = "test/knows", dims = 4): RemoteEmbedder {
  return {
    model: name,
    embedTexts: vi.fn(async (texts: readonly string[]) => texts.map((text) => vectorOf(text, dims))),
  };
}

async function embedAll(search: Search): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await fixture.runTick(search, "search-embed");
}

const states = () =>
  fixture.db.query<{ kind: string; state: string; vectors: number }>(
    `select split_part(embedder, '-', 1) as kind, state,
            (select count(*) from search_embeddings e where e.embedder = s.embedder)::int as vectors
     from search_embedders s order by 1, 2, 3`,
  );

const publishTwo = () => fixture.publish(documentOf(1, "Zorblat"), documentOf(2, "Quandle"));

test("a model finds by meaning what no word matches, and words still count", async () => {
  await publishTwo();
  const search = fixture.openAnother({ embeddings: knowing() });
  expect(await search.find("glimfrob", 20)).toEqual([]);
  await embedAll(search);
  expect((await search.find("glimfrob", 20))[0]).toBe(promptId(1));
  expect((await search.find("wexit", 20))[0]).toBe(promptId(2));
  expect((await search.find("quandle", 20))[0]).toBe(promptId(2));
});

test("a model that finds all texts similar shows nothing for nonsense among a few prompts", async () => {
  const subjects = ["Zorblat", "Quandle", "Frimble", "Plonket", "Wuzzle", "Grottick", "Snerf", "Yaddle"];
  await fixture.publish(...subjects.map((title, i) => documentOf(i + 1, title)));
  const embedTexts = async (texts: readonly string[]) =>
    texts.map((text) =>
      Float32Array.of(3, text.includes("zxcv") ? 1 : 0, ...subjects.map((subject) => (text.includes(subject) ? 1 : 0))),
    );
  const search = fixture.openAnother({ embeddings: { model: "test/alike", embedTexts } });
  await embedAll(search);
  expect(await search.find("asdfqwer zxcv", 20)).toEqual([]);
  expect((await search.find("Wuzzle", 20))[0]).toBe(promptId(5));
});

test("a model is used only once every prompt has its vector; before that, the built-in one is used", async () => {
  await fixture.publish(...Array.from({ length: 190 }, (_, i) => documentOf(i + 1, `Zorblat ${i}`)));
  const isHeld = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const model: RemoteEmbedder = {
    model: "test/knows",
    embedTexts: vi.fn(async (texts: readonly string[]) => {
      if (texts.length === 190 - 128) {
        isHeld.resolve();
        await release.promise;
      }
      return texts.map((text) => vectorOf(text, 4));
    }),
  };
  const search = fixture.openAnother({ embeddings: model });
  const turn = fixture.runTick(search, "search-embed");
  await isHeld.promise;
  expect(await states()).toEqual([
    { kind: "builtin", state: "active", vectors: 190 },
    { kind: "remote", state: "building", vectors: 128 },
  ]);
  await search.find("glimfrob", 20);
  expect(model.embedTexts).not.toHaveBeenCalledWith(["glimfrob"], expect.anything());
  release.resolve();
  await turn;
  expect(await states()).toEqual([
    { kind: "builtin", state: "retired", vectors: 190 },
    { kind: "remote", state: "active", vectors: 190 },
  ]);
  expect(await search.find("glimfrob", 20)).toHaveLength(20);
});

test("a killed backfill continues where it stopped", async () => {
  await fixture.publish(...Array.from({ length: 150 }, (_, i) => documentOf(i + 1, `Zorblat ${i}`)));
  let calls = 0;
  const embedTexts = async (texts: readonly string[]) => {
    calls += 1;
    if (calls > 2) throw new Error("503"); // after the probe and the first batch
    return texts.map((text) => vectorOf(text, 4));
  };
  const killed = fixture.openAnother({ embeddings: { model: "test/knows", embedTexts } });
  await fixture.runTick(killed, "search-embed").catch(() => {});
  const model = knowing();
  const restarted = fixture.openAnother({ embeddings: model });
  await fixture.runTick(restarted, "search-embed");
  const texts = vi.mocked(model.embedTexts).mock.calls.flatMap(([sent]) => sent);
  expect(texts).toHaveLength(1 + 150 - 128); // the probe and what was missing
  expect((await states()).map(({ state }) => state)).toEqual(["retired", "active"]);
});

test("a prompt published later is found by its words at once, and by meaning after the next tick", async () => {
  const search = fixture.openAnother({ embeddings: knowing() });
  await embedAll(search);
  await publishTwo();
  expect(await search.find("zorblat", 20)).toContain(promptId(1));
  expect(await search.find("glimfrob", 20)).toEqual([]);
  await fixture.runTick(search, "search-embed");
  expect(await search.find("glimfrob", 20)).toContain(promptId(1));
});

test("another model, or another vector length of the same model, is another embedder with its own vectors", async () => {
  await publishTwo();
  for (const model of [knowing("test/one", 4), knowing("test/one", 8), knowing("test/two", 8)]) {
    const search = fixture.openAnother({ embeddings: model });
    await embedAll(search);
    await fixture.db.query("update search_embedders set wanted_at = wanted_at - interval '11 minutes'");
    await embedAll(search);
  }
  expect((await states()).map(({ kind, state }) => `${kind} ${state}`)).toEqual([
    "builtin retired",
    "remote active",
    "remote retired",
    "remote retired",
  ]);
});

test("a process that cannot call the active model uses the built-in vectors", async () => {
  await fixture.publish(documentOf(1, "Recipe generator"), documentOf(2, "SQL tutor"));
  await embedAll(fixture.openAnother({ embeddings: knowing() }));
  expect((await fixture.openAnother().find("what should the chef cook", 20))[0]).toBe(promptId(1));
});

test.each<[string, RemoteEmbedder["embedTexts"]]>([
  ["hangs", () => new Promise<never>(() => {})],
  ["fails", () => Promise.reject(new Error("503"))],
  ["answers NaN", async (texts) => texts.map(() => new Float32Array(4).fill(Number.NaN))],
  ["answers another length", async (texts) => texts.map(() => new Float32Array(5).fill(1))],
  ["answers nothing", async () => []],
])("a model that %s costs no result, since the built-in vectors replace it", async (_what, embedTexts) => {
  await fixture.publish(documentOf(1, "Recipe generator"), documentOf(2, "SQL tutor"));
  await embedAll(fixture.openAnother({ embeddings: knowing() }));
  const search = fixture.openAnother({ embeddings: { model: "test/knows", embedTexts }, embeddingDeadlineMs: 20 });
  expect((await search.find("what should the chef cook", 20))[0]).toBe(promptId(1));
});

test("a model that returns invalid vectors while building stores nothing, and is called again later", async () => {
  await publishTwo();
  const clock = { ms: 1_000_000, nowMs: () => clock.ms };
  let isBroken = true;
  const embedTexts = vi.fn(async (texts: readonly string[]) =>
    texts.map((text) => (isBroken ? Float32Array.of(1, Number.NaN) : vectorOf(text, 4))),
  );
  const search = fixture.openAnother({ clock, embeddings: { model: "test/knows", embedTexts } });
  await expect(fixture.runTick(search, "search-embed")).rejects.toThrow("not finite");
  expect((await states()).find(({ kind }) => kind === "remote")).toBeUndefined();
  const calls = embedTexts.mock.calls.length;
  await fixture.runTick(search, "search-embed");
  expect(embedTexts.mock.calls).toHaveLength(calls);
  isBroken = false;
  clock.ms += 30_001;
  await fixture.runTick(search, "search-embed");
  expect((await states()).find(({ kind }) => kind === "remote")).toMatchObject({ state: "active", vectors: 2 });
});

test("a switch of embedders during a hundred queries disturbs none of them", async () => {
  await publishTwo();
  const search = fixture.openAnother({ embeddings: knowing(), wordsTimeoutMs: 30_000 });
  await search.find("zorblat", 20);
  const queries = Array.from({ length: 100 }, (_, i) => search.find(i % 2 === 0 ? "zorblat" : "quandle", 20));
  await embedAll(search);
  const later = Array.from({ length: 20 }, () => search.find("zorblat", 20));
  const answers = await Promise.all([...queries, ...later]);
  for (const [i, answer] of answers.entries()) expect(answer[0]).toBe(promptId(i < 100 && i % 2 === 1 ? 2 : 1));
});

test("two processes that switch at the same time leave exactly one active embedder", async () => {
  await publishTwo();
  const [a, b] = [fixture.openAnother({ embeddings: knowing() }), fixture.openAnother({ embeddings: knowing() })];
  await Promise.all([embedAll(a), embedAll(b)]);
  expect((await states()).map(({ kind, state, vectors }) => `${kind} ${state} ${vectors}`)).toEqual([
    "builtin retired 2",
    "remote active 2",
  ]);
});

test("after an upgrade with other vectors, even of another length, every prompt gets its vector again", async () => {
  await publishTwo();
  await fixture.db.query(
    "insert into search_embedders (embedder, dims, state, retired_at) values ('lsa-older', 300, 'retired', promptd_now())",
  );
  await fixture.db.query(
    "update search_embeddings set embedder = 'lsa-older', vec = substring(vec from 1 for 4 * 300)",
  );
  await fixture.db.query("delete from search_embedders where embedder <> 'lsa-older'");
  await fixture.db.query("update search_embedders set state = 'active', retired_at = null");
  const upgraded = fixture.openAnother();
  await upgraded.find("zorblat", 20);
  await fixture.runTick(upgraded, "search-embed");
  expect(await states()).toEqual([
    { kind: "builtin", state: "active", vectors: 2 },
    { kind: "lsa", state: "retired", vectors: 2 },
  ]);
});

test("a model that starts returning another vector length is noticed by the next query, and is used once all vectors are recomputed", async () => {
  await publishTwo();
  let dims = 4;
  const embedTexts = async (texts: readonly string[]) => texts.map((text) => vectorOf(text, dims));
  const search = fixture.openAnother({ embeddings: { model: "test/grows", embedTexts } });
  await embedAll(search);
  dims = 8;
  expect((await search.find("zorblat", 20))[0]).toBe(promptId(1));
  await fixture.runTick(search, "search-embed");
  expect((await search.find("glimfrob", 20))[0]).toBe(promptId(1));
  const lengths = await fixture.db.query(
    "select dims, state from search_embedders where model = 'test/grows' order by 1",
  );
  expect(lengths).toEqual([
    { dims: 4, state: "retired" },
    { dims: 8, state: "active" },
  ]);
});

test("a process without queries does not switch search back to a vector length that its model no longer returns", async () => {
  await publishTwo();
  let dims = 4;
  const embedTexts = async (texts: readonly string[]) => texts.map((text) => vectorOf(text, dims));
  const open = () => fixture.openAnother({ embeddings: { model: "test/grows", embedTexts } });
  const [api, worker] = [open(), open()];
  await embedAll(api);
  await embedAll(worker);
  dims = 8;
  await api.find("zorblat", 20);
  for (let turn = 0; turn < 3; turn += 1)
    for (const process of [api, worker]) await fixture.runTick(process, "search-embed");
  const active = await fixture.db.query("select dims from search_embedders where state = 'active'");
  expect(active).toEqual([{ dims: 8 }]);
});

test("a model gets its prefixes before queries and prompts, and another prefix means other vectors", async () => {
  await publishTwo();
  const model = knowing();
  const open = (documentPrefix: string) =>
    fixture.openAnother({ embeddings: { ...model, queryPrefix: "query:", documentPrefix } });
  const search = open("passage:");
  await embedAll(search);
  await search.find("glimfrob", 20);
  const texts = vi.mocked(model.embedTexts).mock.calls.flatMap(([sent]) => sent);
  expect(texts).toEqual(["Title: prompt", "passage: Title: Zorblat", "passage: Title: Quandle", "query: glimfrob"]);
  await fixture.db.query("update search_embedders set wanted_at = wanted_at - interval '11 minutes'");
  await embedAll(open("document:"));
  expect((await states()).filter(({ kind }) => kind === "remote")).toHaveLength(2);
});
