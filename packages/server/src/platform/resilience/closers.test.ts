import { expect, test } from "vitest";
import { createClosers } from "./closers.ts";

test("parts are closed in reverse order, whatever fails on the way", async () => {
  const closed: string[] = [];
  const closers = createClosers();
  for (const name of ["first", "second", "third"]) {
    closers.add(async () => {
      closed.push(name);
      if (name !== "first") throw new Error(`${name} failed`);
    });
  }
  await expect(closers.run()).rejects.toThrow("third failed");
  expect(closed).toEqual(["third", "second", "first"]);
});

test("a part that hangs is left behind, and the others are closed", async () => {
  const closed: string[] = [];
  const closers = createClosers({ partMs: 20 });
  closers.add(async () => void closed.push("first"));
  closers.add(() => Promise.withResolvers<void>().promise);
  await expect(closers.run()).rejects.toThrow("did not close within 0.02 s");
  expect(closed).toEqual(["first"]);
});

test("a part that is opened too late is closed at once", async () => {
  const closed: string[] = [];
  const closers = createClosers();
  await closers.run();
  closers.add(async () => void closed.push("late"));
  expect(closed).toEqual(["late"]);
});
