import { expect, test } from "vitest";
import { createGate } from "./semaphore.ts";

const never = new AbortController().signal;

test("no more than the given number of pieces of work run at once, in order of arrival", async () => {
  const gate = createGate(2);
  const log: string[] = [];
  const ends = ["a", "b", "c", "d"].map((name) => {
    const end = Promise.withResolvers<void>();
    const done = gate.run(async () => {
      log.push(name);
      await end.promise;
    }, never);
    return { end: end.resolve, done };
  });
  await Promise.resolve();
  expect(log).toEqual(["a", "b"]);
  ends[1]?.end();
  await ends[1]?.done;
  await Promise.resolve();
  expect(log).toEqual(["a", "b", "c"]);
  for (const { end } of ends) end();
  await Promise.all(ends.map(({ done }) => done));
  expect(log).toEqual(["a", "b", "c", "d"]);
});

test("work that fails gives its place on", async () => {
  const gate = createGate(1);
  await expect(gate.run(() => Promise.reject(new Error("broken")), never)).rejects.toThrow("broken");
  expect(await gate.run(async () => "next", never)).toBe("next");
});

test("waiting that is aborted leaves the queue without taking a place", async () => {
  const gate = createGate(1);
  const end = Promise.withResolvers<void>();
  const first = gate.run(() => end.promise, never);
  const stop = new AbortController();
  const second = gate.run(async () => "never", stop.signal);
  const third = gate.run(async () => "third", never);
  stop.abort(new Error("canceled"));
  await expect(second).rejects.toThrow("canceled");
  end.resolve();
  await first;
  expect(await third).toBe("third");
});

test("who waits longer than the patience is told so, and takes no place", async () => {
  const gate = createGate(1, { ms: 1, late: () => new Error("too busy") });
  const end = Promise.withResolvers<void>();
  const first = gate.run(() => end.promise);
  await expect(gate.run(async () => "never")).rejects.toThrow("too busy");
  end.resolve();
  await first;
  expect(await gate.run(async () => "next")).toBe("next");
});

test("who is turned away takes no place, and those who come after wait as before", async () => {
  const gate = createGate(1);
  const end = Promise.withResolvers<void>();
  const first = gate.run(() => end.promise);
  const waiting = [gate.run(async () => "never"), gate.run(async () => "never", never)];
  gate.turnAway(new Error("not today"));
  expect(await Promise.allSettled(waiting)).toMatchObject([
    { reason: { message: "not today" } },
    { reason: { message: "not today" } },
  ]);
  const later = gate.run(async () => "later");
  end.resolve();
  await first;
  expect(await later).toBe("later");
});
