import { expect, test } from "vitest";
import { gatherCalls } from "./gather-calls.ts";

test("runs once for all calls within its time", async () => {
  const ran = Promise.withResolvers<void>();
  let runs = 0;
  const call = gatherCalls(1, () => {
    runs += 1;
    ran.resolve();
  });
  call();
  call();
  await ran.promise;
  await call.flush(); // one more, for nothing
  expect(runs).toBe(2);
});

test("a flush runs what was called for at once, after a run in progress", async () => {
  const release = Promise.withResolvers<void>();
  const order: string[] = [];
  const call = gatherCalls(60_000, async () => {
    order.push("begin");
    await release.promise;
    order.push("end");
  });
  call();
  const first = call.flush();
  const second = call.flush();
  release.resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(["begin", "end", "begin", "end"]);
});
