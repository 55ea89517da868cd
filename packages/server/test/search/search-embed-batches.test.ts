import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import type { RemoteEmbedder } from "../../src/search/index.ts";
import { documentOf, openSearch, promptId } from "./search-fixture.ts";
import type { SearchFixture } from "./search-fixture.ts";

let fixture: SearchFixture;
const clock = { ms: 1_000_000, nowMs: () => clock.ms };
const warnings: unknown[] = [];
const log = Object.assign(createLog("silent").child({}), { warn: (fields: unknown) => void warnings.push(fields) });
beforeEach(async () => {
  warnings.length = 0;
  fixture = await openSearch();
});
afterEach(() => fixture.close());

const unit = () => Float32Array.of(1, 0, 0, 1);
const PAUSE_MS = 31_000;

function openWith(embedTexts: RemoteEmbedder["embedTexts"]) {
  const asked = vi.fn(embedTexts);
  const search = fixture.openAnother({ clock, log, embeddings: { model: "test/batches", embedTexts: asked } });
  return { search, asked };
}

/** Runs the tick repeatedly, as far apart as the pause after a failure. */
async function takeTurns(search: ReturnType<typeof openWith>["search"], turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await fixture.runTick(search, "search-embed").catch(() => {});
    clock.ms += PAUSE_MS;
  }
}

const isZero = "encode(vec, 'hex') ~ '^0+$'";
async function remote() {
  const [row] = await fixture.db.query<{ state: string; vectors: number; zeros: number }>(
    `select state, (select count(*) from search_embeddings e where e.embedder = s.embedder)::int as vectors,
            (select count(*) from search_embeddings e where e.embedder = s.embedder and ${isZero})::int as zeros
     from search_embedders s where starts_with(embedder, 'remote-')`,
  );
  return row;
}

const publishGood = (count: number) =>
  fixture.publish(...Array.from({ length: count }, (_, i) => documentOf(i + 10, `Good text ${i}`)));

test.each<[string, () => Promise<Float32Array>]>([
  ["is answered with an error", () => Promise.reject(new Error("400, too long"))],
  ["gets a vector of zeros", async () => new Float32Array(4)],
  ["gets a vector of NaN", async () => new Float32Array(4).fill(Number.NaN)],
])("a text that %s keeps no other prompt from its vector", async (_what, answer) => {
  await fixture.publish(documentOf(1, "Poison text"));
  await publishGood(13);
  const { search } = openWith((texts) =>
    Promise.all(texts.map((text) => (text.includes("Poison") ? answer() : Promise.resolve(unit())))),
  );
  await takeTurns(search, 14);
  expect(await remote()).toEqual({ state: "active", vectors: 14, zeros: 1 });
  expect(warnings).toEqual([{ promptId: promptId(1) }]);
  await fixture.publish(documentOf(2, "Published later"));
  await takeTurns(search, 1);
  expect(await remote()).toEqual({ state: "active", vectors: 15, zeros: 1 });
});

test("while the model is unavailable, no prompt is set aside", async () => {
  await publishGood(5);
  let isAway = true;
  const { search, asked } = openWith(async (texts) => {
    if (isAway) throw new Error("503");
    return texts.map(unit);
  });
  await takeTurns(search, 10);
  expect(asked).toHaveBeenCalledTimes(10);
  isAway = false;
  await takeTurns(search, 1);
  isAway = true;
  await fixture.publish(documentOf(2, "Published later"));
  await takeTurns(search, 10);
  expect(await remote()).toEqual({ state: "active", vectors: 5, zeros: 0 });
  isAway = false;
  await takeTurns(search, 1);
  expect(await remote()).toEqual({ state: "active", vectors: 6, zeros: 0 });
  expect(warnings).toEqual([]);
});

test("a model that takes too long for many texts gets fewer at a time", async () => {
  await publishGood(190);
  const { search, asked } = openWith(async (texts) => {
    if (texts.length > 20) throw new DOMException("too slow", "TimeoutError");
    return texts.map(unit);
  });
  await takeTurns(search, 20);
  expect(await remote()).toEqual({ state: "active", vectors: 190, zeros: 0 });
  const failed = asked.mock.calls.filter(([texts]) => texts.length > 20);
  expect(failed.length).toBeLessThan(15);
});

test("a text that is rejected for a while gets its vector later", async () => {
  await fixture.publish(documentOf(1, "Busy text"));
  await publishGood(3);
  let refusals = 0;
  const { search } = openWith(async (texts) => {
    if (texts.some((text) => text.includes("Busy")) && (refusals += 1) <= 4) throw new Error("429");
    return texts.map(unit);
  });
  await takeTurns(search, 14);
  expect(await remote()).toEqual({ state: "active", vectors: 4, zeros: 0 });
});

test("a rejected text that is unpublished meanwhile blocks nothing", async () => {
  await fixture.publish(documentOf(1, "Poison text"));
  await publishGood(3);
  const { search } = openWith(async (texts) => {
    if (texts.some((text) => text.includes("Poison"))) throw new Error("400");
    return texts.map(unit);
  });
  await takeTurns(search, 1);
  await fixture.unpublish(promptId(1));
  await takeTurns(search, 4);
  expect(await remote()).toEqual({ state: "active", vectors: 3, zeros: 0 });
});

test("the text of the longest publishable prompt is cut, but its title and description are complete", async () => {
  const [title, description] = ["t".repeat(120), "d".repeat(500)];
  const inputNames = Array.from({ length: 64 }, (_, i) => `\u{1F600}${i}`.padEnd(100, "n"));
  await fixture.publish(documentOf(1, title, { description, inputNames }));
  const { search, asked } = openWith(async (texts) => texts.map(unit));
  await takeTurns(search, 1);
  const [text = ""] = asked.mock.calls.at(-1)?.[0] ?? [];
  expect(text.length).toBeLessThanOrEqual(2_000);
  expect(text.isWellFormed()).toBe(true);
  expect(text).toContain(`Title: ${title}\nDescription: ${description}\nInputs: `);
});

test("two processes never embed the same texts at the same time", async () => {
  await publishGood(5);
  const requested = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const first = openWith(async (texts) => {
    if (texts.length > 1) {
      requested.resolve();
      await release.promise;
    }
    return texts.map(unit);
  });
  const turn = fixture.runTick(first.search, "search-embed");
  await requested.promise;
  const second = openWith(async (texts) => texts.map(unit));
  await fixture.runTick(second.search, "search-embed");
  expect(second.asked.mock.calls.filter(([texts]) => texts.length > 1)).toEqual([]);
  release.resolve();
  await turn;
  expect(await remote()).toEqual({ state: "active", vectors: 5, zeros: 0 });
});

test("a closing process aborts its calls", async () => {
  await publishGood(5);
  const requested = Promise.withResolvers<void>();
  const { search } = openWith(async (texts, signal) => {
    if (texts.length === 1) return texts.map(unit);
    requested.resolve();
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  });
  const turn = fixture.runTick(search, "search-embed");
  await requested.promise;
  await search.close();
  await turn;
  expect(await remote()).toEqual({ state: "building", vectors: 0, zeros: 0 });
});
