import { expect, test } from "vitest";
import { createBatcher } from "./batcher.ts";

/** Batches that the test completes one by one. */
function createWork(options: { max: number; alternate?: number; inFlightMax: number }) {
  const sent: { items: readonly number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const ask = createBatcher<number, string>({
    ...options,
    send: (items) =>
      new Promise((resolve, reject) => {
        sent.push({ items, end: () => resolve(items.map(String)), fail: reject });
      }),
  });
  const itemsSent = () => sent.map(({ items }) => items);
  return { ask, sent, itemsSent };
}

const nextTick = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test("requests of one event loop iteration are sent together, and each gets its own answer", async () => {
  const { ask, sent, itemsSent } = createWork({ max: 10, inFlightMax: 1 });
  const answers = Promise.all([ask(1), ask(2), ask(3)]);
  await nextTick();
  expect(itemsSent()).toEqual([[1, 2, 3]]);
  sent[0]?.end();
  expect(await answers).toEqual(["1", "2", "3"]);
});

test("while the maximum number of batches is in flight, the next one grows up to its limit", async () => {
  const { ask, sent, itemsSent } = createWork({ max: 2, inFlightMax: 1 });
  const first = ask(1);
  await nextTick();
  const others = Promise.all([ask(2), ask(3), ask(4)]);
  await nextTick();
  expect(itemsSent()).toEqual([[1]]);
  sent[0]?.end();
  await first;
  await nextTick();
  expect(itemsSent()).toEqual([[1], [2, 3]]);
  sent[1]?.end();
  await nextTick();
  sent[2]?.end();
  expect(await others).toEqual(["2", "3", "4"]);
});

test("a few items go in two alternating batches, and many go together", async () => {
  const { ask, itemsSent } = createWork({ max: 10, alternate: 2, inFlightMax: 2 });
  for (const item of [1, 2, 3, 4]) void ask(item);
  await nextTick();
  expect(itemsSent()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  const crowd = createWork({ max: 10, alternate: 2, inFlightMax: 2 });
  for (const item of [1, 2, 3, 4, 5]) void crowd.ask(item);
  await nextTick();
  expect(crowd.itemsSent()).toEqual([[1, 2, 3, 4, 5]]);
});

test("the next batch is sent before callers of the last batch continue", async () => {
  const { ask, sent, itemsSent } = createWork({ max: 10, inFlightMax: 1 });
  const seen = ask(1).then(itemsSent);
  await nextTick();
  void ask(2);
  sent[0]?.end();
  expect(await seen).toEqual([[1], [2]]);
});

test("a failure reaches every caller of its batch, and the next batch is sent", async () => {
  const { ask, sent } = createWork({ max: 10, inFlightMax: 1 });
  const failed = Promise.allSettled([ask(1), ask(2)]);
  await nextTick();
  sent[0]?.fail(new Error("away"));
  expect((await failed).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const next = ask(3);
  await nextTick();
  sent[1]?.end();
  expect(await next).toBe("3");
});
