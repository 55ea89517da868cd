import { expect, test } from "vitest";
import { shareCalls } from "./share-calls.ts";

function countedCalls() {
  const ends: ReturnType<typeof Promise.withResolvers<number>>[] = [];
  const shared = shareCalls(() => {
    const end = Promise.withResolvers<number>();
    ends.push(end);
    return end.promise;
  });
  return { shared, ends };
}

test("everyone who calls during a call gets its result, and the next caller starts another call", async () => {
  const { shared, ends } = countedCalls();
  const together = [shared(), shared()];
  expect(ends).toHaveLength(1);
  ends[0]?.resolve(1);
  expect(await Promise.all(together)).toEqual([1, 1]);
  const later = shared();
  ends[1]?.resolve(2);
  expect(await later).toBe(2);
});

test("a call that fails rejects all its callers, and the next call starts anew", async () => {
  const { shared, ends } = countedCalls();
  const together = [shared(), shared()];
  ends[0]?.reject(new Error("It failed."));
  expect(await Promise.allSettled(together)).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
  const later = shared();
  ends[1]?.resolve(2);
  expect(await later).toBe(2);
});

test("untilIdle waits for the call in progress, even if it fails", async () => {
  const { shared, ends } = countedCalls();
  await shared.untilIdle();
  const failing = Promise.allSettled([shared()]);
  const idle = shared.untilIdle();
  ends[0]?.reject(new Error("It failed."));
  await idle;
  expect(await failing).toMatchObject([{ status: "rejected" }]);
});
