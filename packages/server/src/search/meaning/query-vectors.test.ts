import { expect, test, vi } from "vitest";
import { createLog } from "../../platform/log.ts";
import { createQueryVectors } from "./query-vectors.ts";
import { eventually } from "../../../test/support/eventually.ts";

const EMBEDDER = { embedder: "remote-1", dims: 2 };

function openVectors(
  embedTexts: (texts: readonly string[], signal: AbortSignal) => Promise<Float32Array[]>,
  more: { giveUpMs?: number } = {},
) {
  const clock = { ms: 1_000_000, nowMs: () => clock.ms };
  const embed = vi.fn(embedTexts);
  const vectors = createQueryVectors({
    model: { model: "test/model", embedTexts: embed },
    clock,
    log: createLog("silent"),
    deadlineMs: 20,
    ...more,
  });
  return { vectors, embed, clock };
}
const right = async () => [Float32Array.of(3, 4)];

test("a vector is scaled to unit length and cached by embedder and query", async () => {
  const { vectors, embed } = openVectors(right);
  expect([...((await vectors.find("River  cruise", EMBEDDER)) ?? [])].map((x) => Math.round(x * 10))).toEqual([6, 8]);
  await vectors.find("river cruise", EMBEDDER);
  expect(embed).toHaveBeenCalledTimes(1);
  await vectors.find("river cruise", { ...EMBEDDER, embedder: "remote-2" });
  expect(embed).toHaveBeenCalledTimes(2);
});

test("a thousand queries are cached, and the least recently used one is dropped", async () => {
  const { vectors, embed } = openVectors(right);
  for (let i = 0; i <= 1_000; i += 1) await vectors.find(`query ${i}`, EMBEDDER);
  await vectors.find("query 1000", EMBEDDER);
  expect(embed).toHaveBeenCalledTimes(1_001);
  await vectors.find("query 0", EMBEDDER);
  expect(embed).toHaveBeenCalledTimes(1_002);
});

test("concurrent requests for the same query embed it once", async () => {
  const { vectors, embed } = openVectors(right);
  await Promise.all([vectors.find("q", EMBEDDER), vectors.find("q", EMBEDDER)]);
  expect(embed).toHaveBeenCalledTimes(1);
});

test("a query does not wait for a hanging model, and its late vector is used the next time", async () => {
  let answer: (vectors: Float32Array[]) => void = () => {};
  const { vectors, embed } = openVectors(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  expect(await vectors.find("q", EMBEDDER)).toBeNull();
  answer([Float32Array.of(1, 0)]);
  await eventually(async () => expect(await vectors.find("q", EMBEDDER)).not.toBeNull());
  expect(embed).toHaveBeenCalledTimes(1);
});

test.each([
  ["another length", [Float32Array.of(1, 2, 3)]],
  ["NaN", [Float32Array.of(1, Number.NaN)]],
  ["infinity", [Float32Array.of(1, Number.POSITIVE_INFINITY)]],
  ["no length", [Float32Array.of(0, 0)]],
  ["too few vectors", []],
])("a vector of %s is rejected and not cached", async (_what, answer) => {
  const { vectors, embed } = openVectors(async () => answer);
  expect(await vectors.find("q", EMBEDDER)).toBeNull();
  await vectors.find("q", EMBEDDER);
  expect(embed).toHaveBeenCalledTimes(2);
});

test("after five failures, the model is not called for thirty seconds", async () => {
  const { vectors, embed, clock } = openVectors(() => Promise.reject(new Error("no")));
  for (let i = 0; i < 8; i += 1) expect(await vectors.find(`q${i}`, EMBEDDER)).toBeNull();
  expect(embed).toHaveBeenCalledTimes(5);
  clock.ms += 30_001;
  await vectors.find("q9", EMBEDDER);
  expect(embed).toHaveBeenCalledTimes(6);
});

test("a call that is late and then times out is one failure, however many queries wait for it", async () => {
  const givenUp: Promise<void>[] = [];
  const hang = (_texts: readonly string[], signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      givenUp.push(aborted);
      void aborted.then(() => reject(new Error("given up")));
    });
  const { vectors, embed } = openVectors(hang, { giveUpMs: 60 });
  for (let i = 0; i < 4; i += 1) {
    await Promise.all([vectors.find(`q${i}`, EMBEDDER), vectors.find(`q${i}`, EMBEDDER)]);
  }
  await Promise.all(givenUp);
  await vectors.find("the fifth is still asked", EMBEDDER);
  expect(embed).toHaveBeenCalledTimes(5);
  await vectors.find("the sixth is not", EMBEDDER);
  expect(embed).toHaveBeenCalledTimes(5);
});

test("a model that always answers too late is not called for a while, and its late vectors are still used", async () => {
  const answers: ((vectors: Float32Array[]) => void)[] = [];
  const { vectors, embed } = openVectors(() => new Promise((resolve) => answers.push(resolve)));
  for (let i = 0; i < 8; i += 1) {
    expect(await vectors.find(`q${i}`, EMBEDDER)).toBeNull();
    answers.shift()?.([Float32Array.of(1, 0)]);
    await eventually(async () => expect(i > 4 || (await vectors.find(`q${i}`, EMBEDDER)) !== null).toBe(true));
  }
  expect(embed).toHaveBeenCalledTimes(5);
});

test("after the pause, one answer, even a late one, shows that the model is back", async () => {
  let answer: ((vectors: Float32Array[]) => void) | null = null;
  let embedTexts: () => Promise<Float32Array[]> = () => Promise.reject(new Error("no"));
  const { vectors, embed, clock } = openVectors(() => embedTexts());
  for (let i = 0; i < 5; i += 1) await vectors.find(`q${i}`, EMBEDDER);
  clock.ms += 30_001;
  embedTexts = () => new Promise((resolve) => (answer = resolve));
  expect(await vectors.find("probe", EMBEDDER)).toBeNull();
  expect(await vectors.find("meanwhile", EMBEDDER)).toBeNull();
  expect(embed).toHaveBeenCalledTimes(6);
  (answer as ((vectors: Float32Array[]) => void) | null)?.([Float32Array.of(1, 0)]);
  await eventually(async () => expect(await vectors.find("probe", EMBEDDER)).not.toBeNull());
  embedTexts = right;
  expect(await vectors.find("after it", EMBEDDER)).not.toBeNull();
});

test("failures far apart do not add up", async () => {
  const { vectors, embed, clock } = openVectors(() => Promise.reject(new Error("no")));
  for (let i = 0; i < 8; i += 1) {
    await vectors.find(`q${i}`, EMBEDDER);
    clock.ms += 10_000;
  }
  expect(embed).toHaveBeenCalledTimes(8);
});

test("closing aborts calls in progress", async () => {
  let seen: AbortSignal | undefined;
  const { vectors } = openVectors((_texts, signal) => {
    seen = signal;
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  });
  const pending = vectors.find("q", EMBEDDER);
  vectors.close();
  expect(await pending).toBeNull();
  expect(seen?.aborted).toBe(true);
});
