import { expect, test } from "vitest";
import { beforeReading } from "./read-in-order.ts";

test("the event loop runs between two file reads, and accounts take turns", async () => {
  let rounds = 0;
  let count = setImmediate(function next() {
    rounds += 1;
    count = setImmediate(next);
  });
  const read: [account: string, rounds: number][] = [];
  const accounts = ["a", "a", "a", "a", "b", "b"];
  await Promise.all(
    accounts.map(async (account) => {
      await beforeReading(account);
      read.push([account, rounds]);
    }),
  );
  clearImmediate(count);
  expect(read.map(([account]) => account)).toEqual(["a", "a", "b", "a", "b", "a"]);
  expect(new Set(read.map(([, at]) => at)).size).toBe(accounts.length);
});
